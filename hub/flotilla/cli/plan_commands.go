package cli

import "github.com/spf13/cobra"

// planCommands makes the commands that plan.
type planCommands struct{ *Client }

// planAll are the commands that plan.
func planAll(client *Client) []*cobra.Command {
	a := planCommands{Client: client}
	return inGroup(groupPlan, a.planCommand())
}
