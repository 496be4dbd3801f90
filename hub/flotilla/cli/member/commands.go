package member

import (
	"github.com/spf13/cobra"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// commands makes the commands about members.
type commands struct{ *resource.Client }

// All are the commands about members.
func All(client *resource.Client) []*cobra.Command {
	a := commands{Client: client}
	return session.InGroup(session.GroupFleet, append(a.cordonCommands(false), a.drainCommand(false), a.memberCommand(), a.taintCommand(false))...)
}
