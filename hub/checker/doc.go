// Package checker is the room that asks what has to hold while content goes out: availability, which results tell, servers of
// Prometheus, webhooks and commands, which the configuration of the hub names. It watches placements, what goes out of them,
// and results, asks core/check, and writes check.<placement>, for nobody else to write.
//
// hub/hubd runs one per term of leadership. What was answered is kept in the record, so that the next leader goes on with the
// failures and the soak time that were counted; what was asked and not answered is asked again. Questions run beside the
// room: each address and each command has a few turns of its own, so that one that hangs holds up nobody but those who ask
// the same. An address, a header or the environment of a command is shown nowhere.
package checker
