// Package bus is NATS behind typed buckets, commands, events and a lease. The rooms of the hub, the
// agents, the command line client and the tests call it; none of them speaks to NATS otherwise.
//
// A hub connects with ConnectHub, competes in Lead, and while it leads works with a Store: State (one
// watcher over the records, with a cache), Writer (the only way to change a record, fenced by the
// term), Heartbeats and Results (watch caches of what agents write), Content, Commands and Audit. An
// agent connects with ConnectAgent and owns no consumer: it publishes and reads single subjects. A
// client connects with ConnectClient and calls Request. Package server is the NATS server of a hub.
//
// Promises: updates of one bucket arrive in stream order, and every key at least once after each
// reconnect; change callbacks must not block; writes return after the server stored them. Errors that
// callers tell apart are named in this package and matched with errors.Is.
package bus
