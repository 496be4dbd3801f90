// Package upgrade decides how update runs go over members: the selection of members into stages and
// groups, and the whole state machine of a run as one pure step.
//
// The runner of the hub calls Create when a run enters, Operate when a user asks for something, and
// Step on every wake; each returns the new status of the run, which locks to take and to give back,
// what changed as events, and when to look again. One conditional write of the status comes before
// any command, and Operations derives the commands from what was written. Plan runs the same step
// over a simulated fleet, for the command line and for tests. Reconcile does the same for
// auto-upgrade profiles.
//
// Equal inputs give equal outputs; inputs are never changed; times are whole seconds of UTC, and
// deadlines are absolute, so that a hub that restarts goes on where another one ended. Every member
// carries a state, a reason code and a message for people. Section numbers in comments are those of
// the specification of update runs.
package upgrade
