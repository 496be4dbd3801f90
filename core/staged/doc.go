// Package staged decides how a staged run brings content to members: which of them may have which snapshot of a placement
// of strategy External now, stage after stage. What stages, gates and waits are it does not say: it is a kind of work of
// core/stage, as upgrades are.
//
// Create makes the status of a run, Step and Operate bring it on, Follow does what its spec asks for. Grants is what
// the roller reads of a status: a run releases nothing itself. A member is done when it answered that the snapshot is
// available there; one that does not within StuckAfter is told of and awaited all the same, until it is or the run is
// stopped. Nobody fails for that. Shown tells a status in KubeFleet's words.
package staged
