package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// placementCommands makes the commands about placements.
type placementCommands struct{ *Client }

// placementAll are the commands about placements.
func placementAll(client *Client) []*cobra.Command {
	a := placementCommands{Client: client}
	return slices.Concat(
		inGroup(groupObjects, a.scaleCommand()),
		inGroup(groupPlan, a.whyCommand(), a.rolloutCommand()),
	)
}
