// Package door is the only way into the fleet: the micro service api.<verb>. It validates what users
// send, writes specs and snapshots, and shows objects with their status. Package hubd runs it on the
// leader; clients reach it through bus.Request.
//
// Every request that writes is all or nothing: content is stored first, then one batch of records, all
// under one lock. A repeat with the same request id answers the first result. Nothing is answered while
// the records are not synchronised. Shapes of requests and answers: core/api/request.go.
//
// A run is accepted only when core/upgrade could create it of the fleet as it is; what happens to it then
// is the runner's, whose verbs the door offers beside its own. Gates are shown from the runs they are of.
//
// A node pool that is deleted is marked, and stays until the disruptor's record of it says that no node of it
// is left on any member. What a change of a pool or of its node class replaces is told in notes.
package door
