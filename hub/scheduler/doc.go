// Package scheduler is the room that decides which members placements go to: it watches placements
// and members, asks core/schedule, and writes schedule.<placement> and verdict.<placement>, for nobody
// else to write.
//
// hub/hubd runs one per term of leadership. It keeps the fleet in columns and changes it in place as
// records of members change. A placement is decided when its spec changes; when a member changes
// otherwise than in properties, at once where that may move something and a little later where only
// verdicts follow; when a property that its policy names changes, at most every 15 s; and when a
// decision asked for it. Releases wake nobody, they only say which bindings may go first when scaling
// in. The schedule is one conditional write, and nothing is written that did not change; verdicts
// follow in a write of their own and wake nobody. Nothing is decided while the cache is behind.
//
// It carries out evictions too, and drains members: it alone takes bindings away. What became of an eviction,
// eviction.<eviction>, is one write together with the schedule without the binding, so a crash neither loses one nor
// carries it out twice. While a placement waits to let go of a member that is drained it is decided with every release and
// result of its members, budget and lock.
package scheduler
