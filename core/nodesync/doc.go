// Package nodesync decides what an agent tells the hub of its member's nodes, and in which order. It knows no connection,
// no lock and no clock: agent/nodes sees for it, sends for it, and reports back what the hub took.
//
// Each event is the whole state of one node, at most one per node and interval, always the newest; the inventory says
// which nodes there must be, and follows the events that it counts. Whatever of one look has been told, the hub knows of
// every pod that moved: nodes that pods came to are told before nodes that pods left. Where that cannot be, of nodes that
// exchange pods, and of those that the hub refuses or is not to be told of yet, the inventory lists what came there as
// pods without a node, and is told before nodes that pods left. An inventory that cannot wait for a node that the hub
// refuses counts an event of it that is yet to come: others are told, and the hub does not act on the member before it
// has that. Nothing that changed is lost: what the hub does not take is told again, in its then newest state, and what it
// lost is found by reading back the last that was told.
//
// A pod that left a node which goes is told as one without a node until its successor is seen: the room that it was
// promised is not given to others meanwhile. A process that is started anew knows of them by what was told.
//
// What a look at the member cannot tell, since when a node was initialised and when a pod last came or went, is
// remembered from one look to the next, and kept for the next process. One that finds other pods on a node counts that as
// a pod event now; one that nothing was kept for knows only what nodes and pods say of themselves.
//
// A Sync holds what was seen and told. A Round is one telling of what is due, a step at a time: send what the step names,
// report with Took, TookInventory and Refused, ask for the next.
package nodesync
