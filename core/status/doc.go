// Package status says how a placement does, in the conditions and reasons of KubeFleet's API.
//
// Aggregate makes the record of a placement, Members the entry of every member for readers who want them
// all, Events what turned between two records. All three are pure: equal inputs give equal bytes, and
// aggregating again over the last answer changes nothing.
//
// A Fold is the same for whoever follows a placement, the room hub/reporter: it keeps of each member what
// follows from its result, with counts of it, so that a result costs what one member costs. A Pace says when
// what has come of it is worth a record.
package status
