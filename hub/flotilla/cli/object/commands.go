package object

import (
	"slices"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/spf13/cobra"
)

// Commands makes the verbs that every kind of objects has.
type Commands struct{ *resource.Client }

// All are the commands that every kind of objects has.
func All(client *resource.Client) []*cobra.Command {
	a := Commands{Client: client}
	return slices.Concat(
		session.InGroup(session.GroupObjects, a.applyCommand(), a.createCommand(), a.replaceCommand(), a.diffCommand(), a.getCommand(), a.describeCommand(), a.deleteCommand(), a.waitCommand(), a.editCommand(), a.labelCommand(), a.annotateCommand()),
		session.InGroup(session.GroupPlan, a.eventsCommand()),
		session.InGroup(session.GroupOther, a.correctCommand(), a.explainCommand(), a.schemaCommand()),
	)
}
