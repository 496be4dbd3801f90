// Package notifier is the room that tells the world outside what happens in the fleet. For each
// configured notification it follows the audit stream, and sends every event that the filter lets
// through to a webhook or a command.
//
// hubd runs it while the hub leads. Events of one notification are sent one at a time and in order, each
// at least once: how far it has come is a record, written once an event was delivered, so that the next
// leader goes on there. An event that cannot be delivered is tried again with growing pauses until it is
// older than the notification allows; then it is given up, which the log, the record and an event tell.
// A notification begins with what happens after it was configured first. Notifications wait for nobody:
// one that cannot deliver holds up no other.
package notifier
