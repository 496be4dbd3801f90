// Package nodes tells the hub the state of one member's nodes with their pods, and carries out the
// disruptions of nodes that the hub commands.
//
// Package agentd runs it. Each event is the whole state of one node, at most one per node and interval,
// always the newest; the inventory says which nodes there must be, and follows the events that it counts.
// What changed is told together, nodes that lost pods last, so that the hub never misses a pod that moved;
// where events alone cannot do that the inventory lists pods as waiting until their node is told. An
// inventory that cannot wait for a node that the hub refuses counts an event of it that is yet to come:
// others are told, and the hub does not act on the member before it has that. Nothing that changed is lost:
// what the hub does not take is told again, in its then newest state, and what the broker lost or somebody
// purged is found by reading back the last that was told. What is too large to be told is told to be so,
// which keeps the hub from acting on the member.
//
// What a look at the member cannot tell, since when a node was initialised and when a pod last came or
// went, is remembered in the data directory. An agent that was away and finds other pods on a node counts
// that as a pod event now; one that lost its data directory knows only what nodes and pods say of
// themselves.
//
// A pod that left a node which goes is told as one without a node until its successor is seen: the room that it was
// promised is not given to others meanwhile. A process that is started anew knows of them by what was told.
//
// Where the configuration wants nodes left alone Abstain runs instead: it takes off them what was put
// there, and tells the hub so.
//
// A command is the whole set of disruptions that are on their way. Nodes are tainted, replacements launched
// by the provider and waited for; when the hub says so the nodes are deleted, and emptied as any node of a
// NodePool is that somebody deletes, which our finalizer sees to. Each node, machine and disruption goes
// its own way, so that one that is stuck holds no other. The command and the launches are on the disk
// before they are acted upon, everything else is read off the member: an agent that is killed at any moment
// goes on without the hub, asks for no launch under another name, and takes back what nobody wants any
// more. The end of a node is told before the result that lists it.
package nodes
