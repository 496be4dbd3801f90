package cli

import "github.com/spf13/cobra"

// nodesCommands makes the commands about nodes.
type nodesCommands struct{ *Client }

// nodesAll are the commands about nodes.
func nodesAll(client *Client) []*cobra.Command {
	a := nodesCommands{Client: client}
	return inGroup(groupPlan, a.budgetsCommand())
}
