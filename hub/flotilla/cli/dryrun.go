package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// dryRunFlag adds --dry-run with kubectl's values; alone it means server.
func dryRunFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "dry-run", "none", "none, or server: say what would be done and do nothing")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "server"
}

// dryRunClientFlag adds --dry-run to a command that can do without a hub too.
func dryRunClientFlag(cmd *cobra.Command, value *string) {
	dryRunFlag(cmd, value)
	cmd.Flags().Lookup("dry-run").Usage = "none, server: say what would be done and do nothing, or client: the same without asking a hub"
}

// parseDryRun reads the value of --dry-run.
func parseDryRun(value string, also ...string) (bool, error) {
	switch value {
	case "none", "false":
		return false, nil
	case "server", "true":
		return true, nil
	}
	return false, usagef("--dry-run: found %q, expected %s%s", value, strings.Join(append([]string{"none", "server"}, also...), " or "), withClient(value))
}

// dryRunClient is the value of --dry-run that asks no hub.
const dryRunClient = "client"

// withClient says of a command that always asks the hub what became of client.
func withClient(value string) string {
	if value == dryRunClient {
		return ": what would be done only the hub knows"
	}
	return ""
}
