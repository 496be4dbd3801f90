// Package server runs a NATS server in this process, with the accounts and permissions of a fleet, and makes and keeps
// the accounts of a fleet on servers that others run. The hub, development fleets and tests call it; the agent and the
// command line do not, so that neither links a server.
//
// Start serves a data directory until Shutdown; a Server is what bus.Options.Server connects to in process. MakeAccounts
// and MakeLeaf write folders for servers of others, OpenAccounts reads one: Accounts.Keep has those servers go by it.
// Server and Accounts both issue credentials and refuse them for ever (Revoke), by the permissions of the address book.
package server
