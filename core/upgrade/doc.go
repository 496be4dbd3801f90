// Package upgrade decides how update runs upgrade members: which of them a run selects, to which
// versions and images each is moved, and whether it may be moved now. How a run goes over them is
// decided by core/stage.
//
// The runner of the hub calls Create when a run enters, Operate when a user asks for something, and
// Step on every wake. One conditional write of the status comes before any command, and Operations
// derives the commands from what was written. Plan runs the same step over a simulated fleet, for the
// command line and for tests. Reconcile decides on auto-upgrade profiles.
//
// Equal inputs give equal outputs; inputs are never changed. Every member carries a state, a reason
// code and a message for people.
package upgrade
