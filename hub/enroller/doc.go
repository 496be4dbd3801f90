// Package enroller is the room that gives agents their credentials: it makes tokens for members, answers what agents
// state on the subject of their enrolment as core/enrolment decides, and writes identity.<member>, for nobody else
// to write.
//
// hub/hubd runs one per term of leadership. A record is written before credentials are given; credentials are
// signed anew for every answer, so that an answer which was lost is repeated by asking again. Who waits to be
// admitted is answered when that happens.
package enroller
