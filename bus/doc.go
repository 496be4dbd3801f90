// Package bus is the connection to NATS: who connects as whom, requests of people and their answers, and how messages
// are written, bounded, packed and sealed. The packages below it, the rooms of the hub, the agents, the command line
// client and the tests call it; none of them speaks to NATS otherwise.
//
// Package streams is the layout of what is stored, and content, commands and audit events; watch follows what is stored;
// census counts the records of state and finds what is gone; store is what a leader works with; member is the agent's
// side; server is the NATS server of a hub.
//
// Writes return after the server stored them. Errors that callers tell apart are named in this package and matched with
// errors.Is.
package bus
