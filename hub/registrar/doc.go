// Package registrar is the room that keeps the records of members: it watches heartbeats and the specs
// of members, asks core/liveness, and writes member.<name>, for nobody else to write.
//
// hub/hubd runs one per term of leadership. A record is written when something in it changed, so that
// a fleet at rest costs no writes however often its agents beat; what moves all the time is written
// at most every 15 s for each member. States hold for a grace period after heartbeats became readable
// again. Nothing is decided while a cache is behind.
package registrar
