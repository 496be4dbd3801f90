// Package rollout decides which members of a placement may run which snapshot now.
//
// Next is the whole of it: it takes the placement, its schedule, the release as it stands and what
// the members reported, and answers with the next release. The command line calls it for plans; the room
// hub/roller calls Decide, which is the same and tells which further results may change the answer, and
// writes it. It promises that it never lets
// more members be unavailable than maxUnavailable allows, that deciding twice changes nothing, and
// that the answer does not depend on the order of its inputs. It neither blocks nor keeps anything.
//
// The arithmetic is that of KubeFleet's RollingUpdate. Three rules are our own:
//
//   - What is in progress is not failed. Only a failed apply frees an update from maxUnavailable.
//   - A member that is not ready already takes one of the places that maxUnavailable grants. It may
//     move to the newest snapshot within those places, so that a broken snapshot can be repaired;
//     and it may be withdrawn as soon as enough others are ready.
//   - A member without a heartbeat is not ready, whatever it last reported.
//
// While a placement is paused no member moves: none gets another snapshot, another apply strategy, or the placement at
// all, and none gives it up, unless the placement is deleted, its member leaves, or it was evicted. What was given before
// goes on.
// The same holds while placements are frozen, and for one member while that is.
// Of strategy External nobody moves by the arithmetic: a member is given the snapshot, or gives the placement up, when a
// staged run lets it (Grants).
// History says which snapshots follow each other when a person goes back to one.
package rollout
