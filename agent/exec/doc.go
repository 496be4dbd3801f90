// Package exec is the one way in which an agent runs somebody's command, be it the provider of machines, what upgrades a
// member, or what observes it: in a process group of its own, with a time-out, ended with all that it started, with
// bounds for what it prints, and without the agent's own variables.
//
// Run is for a command that answers, Stream for one that tells while it runs.
package exec
