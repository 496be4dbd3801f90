// Package nodes tells the hub the state of one member's nodes with their pods, and carries out the
// disruptions of nodes that the hub commands.
//
// Package agentd runs it. core/nodesync says what to tell and in which order; here the member is looked at, what is due is
// sent, and what the hub took is noted. What is too large to be told is told to be so, which keeps the hub from acting on
// the member. What a look cannot tell of nodes is kept in the data directory.
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
