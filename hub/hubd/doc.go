// Package hubd is the hub as a value: Options, New, Start, Serve, Stop. The main package and the tests of
// the whole house call it; several hubs can run in one process.
//
// A hub starts its embedded NATS server, if it has one, connects, and competes for the lease. While it
// leads, and only then, its rooms run: each watches records, asks one function of the core, and writes
// one kind of record. When it loses the lease the rooms are stopped and waited for before it competes
// again. Everything that was started is undone in reverse order, and Stop returns when it is.
package hubd
