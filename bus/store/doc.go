// Package store is what a leader works with. A hub competes in Lead, and while it leads has a Store: State, the records
// with one watcher over all of them, Writer, the only way to change one, fenced by the term, a ledger that names what
// state loses, and what package watch follows and package streams publishes.
//
// A room asks for records as itself: Reads is the Table of a family, Writes makes the Op of one that it may change.
// Writes return after the server stored them; change callbacks must not block.
package store
