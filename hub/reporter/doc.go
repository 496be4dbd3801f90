// Package reporter is the room that says how placements do: it watches placements, schedules,
// snapshots, releases, results and members, asks core/status, and writes status.<placement>, for
// nobody else to write. What turned goes into the audit stream.
//
// It also keeps bucket result clean: what belongs to no member any more is swept, after two looks an hour
// apart, and what cannot be read is told of. The results of a member are its agent's to drop.
//
// hub/hubd runs one per term of leadership. Changes of one placement are gathered for a tenth of a
// second, so that many members that answer at once cost one write. Nothing changed means nothing
// written. Nothing is decided while a cache is behind.
package reporter
