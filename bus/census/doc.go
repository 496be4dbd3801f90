// Package census counts the records of state and says what state has lost: a Tally goes with each write, a Book lists
// the records by key, and Holes compares both with what is there. It reads and writes nothing itself; package store
// calls it, and rooms that show a Damage.
package census
