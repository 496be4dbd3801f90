// Package nodes holds the commands about nodes and their disruption: budgets, plan nodes, why of a node.
package nodes
