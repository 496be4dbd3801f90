package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// objectCommands makes the verbs that every kind of objects has.
type objectCommands struct{ *Client }

// objectAll are the commands that every kind of objects has.
func objectAll(client *Client) []*cobra.Command {
	a := objectCommands{Client: client}
	return slices.Concat(
		inGroup(groupObjects, a.applyCommand(), a.diffCommand(), a.getCommand(), a.describeCommand(), a.deleteCommand(), a.waitCommand(), a.editCommand(), a.labelCommand(), a.annotateCommand()),
		inGroup(groupPlan, a.eventsCommand()),
		inGroup(groupOther, a.correctCommand(), a.explainCommand(), a.schemaCommand()),
	)
}
