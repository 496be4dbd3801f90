// Package guard decides what stays as it is although somebody, or something, wants it changed: what is frozen, and
// withdrawals that take away too much at once.
//
// A freeze is of the fleet, of placements, of runs, of nodes or of one member; Frozen says which one is in the way of what.
//
// Rooms of the hub ask it before they decide, and hand what it says to the decision: rollouts hold their members, runs let
// theirs wait, evictions are refused, drains wait, nodes stay. It keeps nothing and blocks nobody.
package guard
