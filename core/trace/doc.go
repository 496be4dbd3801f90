// Package trace tells how the last change of a placement came to its members, and back: when each hop was, what it took,
// and what the next one waits for.
//
// Of is the whole of it: records with the times at which the broker stored them, events, what agents state, in; hops out.
// The door gathers and asks. Three clocks tell of hops. The broker's is the one that counts: it stamps records, events,
// commands and results. The hub's is in records to the second. An agent's may be wrong by any amount: what it states is
// moved by how far its clock is ahead, which its heartbeat tells, and which can be no more than lets the command be stored
// before it was received, and no less than lets the result be stored after what it tells of.
//
// It promises that hops of a member never go back, that what they took adds up to the whole, and that a time which had
// to be moved says so. What is not kept any more is Unknown, and never invented.
package trace
