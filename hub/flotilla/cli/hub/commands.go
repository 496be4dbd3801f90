package hub

import (
	"slices"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/spf13/cobra"
)

// commands makes the commands about the fleet and its hub.
type commands struct{ *resource.Client }

// All are the commands about the fleet and its hub.
func All(client *resource.Client) []*cobra.Command {
	a := commands{Client: client}
	return slices.Concat(
		session.InGroup(session.GroupFleet, a.statusCommand(), a.webCommand(), a.kubeconfigCommand(), a.tokenCommand(), a.freezeCommand(), a.unfreezeCommand(), a.approveCommand(), a.userCommand(), a.backupCommand(), a.restoreCommand(), a.secretsCommand()),
		session.InGroup(session.GroupOther, a.whoamiCommand(), a.authCommand(), a.versionCommand()),
	)
}
