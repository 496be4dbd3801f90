// Package eviction decides whether a placement may be taken off a member now.
//
// A Book is how all bindings of one placement stand. Judge is the answer to one ClusterResourcePlacementEviction, in the
// conditions, reasons and messages of KubeFleet; Drain takes members one after another for as long as the disruption budget
// of the placement lets it. The scheduler calls both and writes what they come to; the command line and `status` show what
// they would say now.
//
// The arithmetic is KubeFleet's, with three rules of our own, each of which makes a budget stricter, so that it holds over
// evictions that follow each other:
//
//   - A member that was evicted, or drained, and that nobody replaced is unavailable: it is not picked again (D8).
//   - A member without a heartbeat is not available, whatever it last reported.
//   - Nor is one that an update run or node disruptions have a hold of: they may take its workloads away now.
package eviction
