// Package past tells what became of a placement, and how it was at a time, from the events that are kept of it.
//
// Of is the whole of it: events and what there is now in, a history out, and with a time the placement as it was then. The
// members of that time follow from those of now: what events say that was picked since is taken away, what was lost is put
// back. What follows from nothing that is kept is named as not known, with the reason; nothing is guessed.
package past
