package nodes

import (
	"github.com/spf13/cobra"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// Commands makes the commands about nodes.
type Commands struct{ *resource.Client }

// All are the commands about nodes.
func All(client *resource.Client) []*cobra.Command {
	a := Commands{Client: client}
	return session.InGroup(session.GroupPlan, a.budgetsCommand())
}
