package cli

import "github.com/spf13/cobra"

// memberCommands makes the commands about members.
type memberCommands struct{ *Client }

// memberAll are the commands about members.
func memberAll(client *Client) []*cobra.Command {
	a := memberCommands{Client: client}
	return inGroup(groupFleet, a.memberCommand(), a.taintCommand(), a.cordonCommand(), a.uncordonCommand())
}
