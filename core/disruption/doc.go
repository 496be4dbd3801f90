// Package disruption decides which nodes of a member to remove or replace, and says of every other
// node why not.
//
// It follows spec/disruption.md, that is Karpenter's decisions with the decisions N1-N18 of its
// section 0. The disruptor room, `flotilla plan nodes` and `flotilla why node/NAME` call Decide with
// the same State, so that all three agree. Decide changes nothing that can be seen from outside,
// reads no clock, and gives equal decisions for equal states, whatever the order of their parts.
//
// Step is one pass over a member: from its record, its state, what its agent says and what persons ask
// for, it makes the next record, the commands that wait for their validation, and the events to tell. The
// disruptor gathers and writes; every rule of carrying out is here.
package disruption
