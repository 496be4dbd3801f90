package cli

import "github.com/spf13/cobra"

// runCommands makes the commands about update runs and maintenance windows.
type runCommands struct{ *Client }

// runAll are the commands about update runs and maintenance windows.
func runAll(client *Client) []*cobra.Command {
	a := runCommands{Client: client}
	return inGroup(groupUpgrade, a.runCommand(), a.windowsCommand())
}
