// Package worker makes a member hold what the hub wants there: it reads the member's index of
// placements, asks core/apply what to write, writes it, and reports a result for each placement.
//
// Package agentd runs it. A hint only makes it look: what it acts on is always read from the command
// stream itself, checked for order, and written to disk first, so that an agent that starts with the
// hub away goes on with what it had. It removes only what the index marks as withdrawn, or what a
// newer content of the same placement no longer has; what the index does not mention is kept and
// reported as unlisted. Placements do not wait for each other, and nothing is written, neither to the
// member nor to the hub, where nothing changed.
package worker
