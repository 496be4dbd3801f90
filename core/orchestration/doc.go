// Package orchestration carries out what core/disruption decided about the nodes of a member.
//
// Step is one pass: from the record of the member, its state, what its agent says and what persons ask
// for, it makes the next record, the commands that wait for their validation, and the events to tell. The
// disruptor gathers and writes; every rule of carrying out is here: replacements come first, a drain begins
// in time or not at all, failures back off, and the record keeps its bounds.
package orchestration
