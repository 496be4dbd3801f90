package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// hubCommands makes the commands about the fleet and its hub.
type hubCommands struct{ *Client }

// hubAll are the commands about the fleet and its hub.
func hubAll(client *Client) []*cobra.Command {
	a := hubCommands{Client: client}
	return slices.Concat(
		inGroup(groupFleet, a.statusCommand(), a.userCommand(), a.backupCommand(), a.restoreCommand(), a.secretsCommand()),
		inGroup(groupOther, a.whoamiCommand(), a.authCommand(), a.versionCommand()),
	)
}
