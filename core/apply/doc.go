// Package apply is the agent's brain: it compares what one placement is to hold on a member with
// what lives there and says what to write, in which order, what to leave alone and why; and it
// judges whether a live object is available.
//
// The agent's worker calls it. It never changes its inputs, does no I/O, and its outputs are sorted,
// so that equal inputs give equal plans. Nothing is written where content is equal: a plan over a
// member that already holds what it should consists of keeps alone.
package apply
