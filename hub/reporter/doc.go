// Package reporter is the room that says how placements do: it watches placements, schedules,
// snapshots, releases, results and members, asks core/status, and writes status.<placement>, for
// nobody else to write. What turned goes into the audit stream. It keeps of each placement what follows from
// the results of its members, and folds in those that changed.
//
// It also keeps bucket result clean: what belongs to no member any more is swept, after two looks an hour
// apart, and what cannot be read is told of. The results of a member are its agent's to drop.
//
// hub/hubd runs one per term of leadership. While more is on its way a placement is written once a second,
// after a tenth of a second; when all has arrived, at once. Nothing changed means nothing
// written. Nothing is decided while a cache is behind.
package reporter
