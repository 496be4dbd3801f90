package placement

import (
	"slices"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/spf13/cobra"
)

// Commands makes the commands about placements.
type Commands struct{ *resource.Client }

// All are the commands about placements.
func All(client *resource.Client) []*cobra.Command {
	a := Commands{Client: client}
	return slices.Concat(
		session.InGroup(session.GroupObjects, a.scaleCommand(), a.evictCommand()),
		session.InGroup(session.GroupPlan, a.whyCommand(), a.rolloutCommand(), a.traceCommand(), a.pastCommand()),
	)
}
