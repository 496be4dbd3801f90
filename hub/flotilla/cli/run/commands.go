package run

import (
	"github.com/spf13/cobra"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// commands makes the commands about update runs and maintenance windows.
type commands struct{ *resource.Client }

// All are the commands about update runs and maintenance windows.
func All(client *resource.Client) []*cobra.Command {
	a := commands{Client: client}
	return session.InGroup(session.GroupUpgrade, a.runCommand(), a.windowsCommand())
}
