// Package renderer is the room that follows overrides: it watches placements, snapshots, overrides, schedules, releases
// and members, asks core/render what overrides make of the newest snapshot on each bound member, stores the works that
// come of it as content, and writes rendered.<placement>, for nobody else to write.
//
// hub/hubd runs one per term of leadership. Members on which overrides come to the same share one work, which carries the
// objects that are changed and names the snapshot's for the others. Content is stored before the record that names it, under
// the lock that keeps sweeps away, and works that releases still name stay in the record. Nothing changed means nothing
// stored or written; a placement that no override touches has no record.
package renderer
