package plan

import (
	"github.com/spf13/cobra"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// commands makes the commands that plan.
type commands struct{ *resource.Client }

// All are the commands that plan.
func All(client *resource.Client) []*cobra.Command {
	a := commands{Client: client}
	return session.InGroup(session.GroupPlan, a.planCommand())
}
