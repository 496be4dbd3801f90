// Package streams holds the layout of a fleet's streams, how full they are, and those that nobody follows with a cache:
// content, which is written once and sealed, the commands to members, and the audit events. Every hub calls it, and the
// command line client for events.
//
// EnsureLayout may be called again and again and changes nothing that is as it should be. Audit.Record never blocks.
package streams
