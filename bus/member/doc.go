// Package member is the agent's side of the bus. An agent connects with Connect and owns no consumer: it publishes and
// reads single subjects, all within subjects.Fleet.AgentPermissions. A Follower keeps it up with its commands, a Wallet
// is how it proves who it is. Agents call it, and tests.
package member
