// Package status says how a placement does, in the conditions and reasons of KubeFleet's API.
//
// Aggregate makes the record that the room hub/reporter writes, Members the entry of every member
// for readers who want them all, Events what turned between two records. All three are pure: equal
// inputs give equal bytes, and aggregating again over the last answer changes nothing.
package status
