package session

import (
	"strings"

	"github.com/spf13/cobra"
)

// DryRunFlag adds --dry-run with kubectl's values; alone it means server.
func DryRunFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "dry-run", "none", "none, or server: say what would be done and do nothing")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "server"
}

// DryRunClientFlag adds --dry-run to a command that can do without a hub too.
func DryRunClientFlag(cmd *cobra.Command, value *string) {
	DryRunFlag(cmd, value)
	cmd.Flags().Lookup("dry-run").Usage = "none, server: say what would be done and do nothing, or client: the same without asking a hub"
}

// ParseDryRun reads the value of --dry-run.
func ParseDryRun(value string, also ...string) (bool, error) {
	switch value {
	case "none", "false":
		return false, nil
	case "server", "true":
		return true, nil
	}
	return false, Usagef("--dry-run: found %q, expected %s%s", value, strings.Join(append([]string{"none", "server"}, also...), " or "), withClient(value))
}

// DryRunClient is the value of --dry-run that asks no hub.
const DryRunClient = "client"

// withClient says of a command that always asks the hub what became of client.
func withClient(value string) string {
	if value == DryRunClient {
		return ": what would be done only the hub knows"
	}
	return ""
}
