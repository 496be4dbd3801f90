// Package runner is the room that brings update runs forward: it watches runs, strategies, profiles,
// catalogs, members, their inventories, maintenance and results, asks core/upgrade, and writes
// run.<name>, profile.<name> and lock.<member>, for nobody else to write. Runs that a profile makes it
// writes whole, spec included.
//
// hub/hubd runs one per term of leadership and hands its Verbs to the door's service. A decision is one
// conditional write: the status of the run with the locks it takes and gives back, all or nothing; the
// dispatcher derives commands from what was written, so that no command goes out before its record.
// Decisions are made one after another, because runs meet on the locks of members. Times in records are
// absolute: a hub that takes over goes on where the last one ended. Nothing is decided while a cache is
// behind, and nothing changed means nothing written.
package runner
