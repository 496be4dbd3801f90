// Package status says how a placement does, in the conditions and reasons of KubeFleet's API.
//
// Aggregate makes the record of a placement, Events what turned between two records. Both are pure: equal
// inputs give equal bytes, and aggregating again over the last answer changes nothing.
//
// A Fold is the same for whoever follows a placement, the room hub/reporter, and for readers who want the
// entry of every member: it keeps of each member what follows from its result, with counts of it, so that a
// result costs what one member costs. A Pace says when what has come of it is worth a record.
package status
