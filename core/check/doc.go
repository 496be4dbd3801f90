// Package check decides how a snapshot does that goes out under a RolloutCheck: what is to be asked now, whether what was
// answered lets the rollout go on, and when it has failed.
//
// Follow is the whole of it: it takes the placement with its records, the record as it stands and what was answered since,
// and returns the next record, the questions that are due and when to look again. The room hub/checker calls it, asks, and
// writes the record, which core/rollout and core/staged read: they hold members until the checks held for the soak time, and
// take them back where they failed.
//
// An answer counts for what was given to members when it was asked: who is given the snapshot later begins the soak time
// anew. Whatever is no pass is a failure of the check: a time-out, no answer, one that cannot be read. So many in a row as
// the failure limit says refuse the snapshot, for good. A member that nobody hears of is neither waited for nor failed.
// Nothing is asked while the placement is paused.
package check
