// Package health judges what people should look at in a fleet: each function takes records of one member, room, placement,
// update run, profile, node pool or disruption, and returns its problems, each with a reason, a message and the command to
// type next. Package hub/door gathers the records and answers `flotilla status` with the problems, the most severe first.
package health
