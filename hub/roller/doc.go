// Package roller is the room that releases snapshots to members: it watches placements, schedules,
// snapshots, results and members, asks core/rollout, and writes release.<placement>, for nobody else to
// write. It keeps of each placement how it stood when it was decided on, and decides again where a result,
// a record or the time may change that.
//
// hub/hubd runs one per term of leadership. A release is one conditional write; a plan that meets a
// newer record is dropped and made again. Nothing changed means nothing written. When a placement's
// spec is gone its release stays until every withdrawal is confirmed, or its member left, and is then
// deleted. Nothing is decided while a cache is behind.
package roller
