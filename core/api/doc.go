// Package api holds the objects, records and messages of Flotilla and nothing that acts on them.
//
// Three families live here. Objects are what users write (placements, members, content); they are
// Kubernetes-shaped. Records are what the rooms of the hub keep in the state bucket, one writer
// each. Messages are what hub and agents send each other. Records and messages start with a Header,
// so that a reader can tell what it holds and whether it may act on it.
//
// Everything else in the repository may import this package; of ours it imports the amounts and faults of core/strict alone.
package api
