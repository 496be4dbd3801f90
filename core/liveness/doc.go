// Package liveness says how a member does from the age and content of its heartbeat.
//
// Judge gives the one word and its reason, Record the whole record of a member. The room
// hub/registrar calls both on every heartbeat and whenever the last answer asked to be looked at
// again. Thresholds and the time are inputs.
package liveness
