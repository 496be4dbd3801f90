// Package rollup says how an object of content does in the whole fleet, in the status that its kind has on one cluster: what
// kstatus, kubectl rollout status and kubectl wait read of it is what its members say.
//
// Gather folds what is known of the members of one placement; Judge asks the placements that select an object for their
// members, and a Judgement writes the status of it. All are pure, and nothing but the deadline of what no placement selects
// depends on the time.
package rollup
