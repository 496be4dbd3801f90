package session

import (
	"slices"

	"github.com/spf13/cobra"
)

// flagPair is a flag of a command beside which others would be ignored.
type flagPair struct {
	command string
	flag    string
	value   string // of the flag; empty: any
	ignored []string
	why     string
}

var (
	connecting = []string{"url", "context", "creds", "tls-ca"}
	choosing   = []string{"selector", "field-selector"}
)

const (
	asksNoHub     = "it asks no hub"
	waitsForNone  = "nothing is waited for"
	filesNameThem = "the files name the objects"
)

var flagPairs = []flagPair{
	{"plan", "offline", "true", connecting, asksNoHub},
	{"version", "client", "true", connecting, asksNoHub},
	{"apply", "dry-run", "client", append([]string{"set", "prune", "move", "yes"}, connecting...), asksNoHub},
	{"create", "dry-run", "client", connecting, asksNoHub},
	{"replace", "dry-run", "client", connecting, asksNoHub},
	{"delete", "wait", "false", []string{"timeout"}, waitsForNone},
	{"delete", "dry-run", "client", []string{"timeout"}, waitsForNone},
	{"delete", "dry-run", "server", []string{"timeout"}, waitsForNone},
	{"delete", "all", "true", choosing, "it means every object of the type"},
	{"delete", "all", "true", []string{"filename"}, filesNameThem},
	{"delete", "filename", "", choosing, filesNameThem},
	{"delete", "kustomize", "", choosing, filesNameThem},
	{"get", "all-namespaces", "true", []string{"namespace"}, "it means every namespace"},
}

// ignoredFlag refuses a flag that would do nothing beside another.
func ignoredFlag(cmd *cobra.Command) error {
	for _, p := range flagPairs {
		if cmd.Name() != p.command || cmd.Parent() != cmd.Root() || !cmd.Flags().Changed(p.flag) {
			continue
		}
		ignored := slices.IndexFunc(p.ignored, cmd.Flags().Changed)
		if value := cmd.Flags().Lookup(p.flag).Value.String(); ignored >= 0 && (p.value == "" || value == p.value) {
			said := "--" + p.flag
			if p.value != "" && p.value != "true" {
				said += "=" + p.value
			}
			return Usagef("found --%s beside %s, expected one of them: %s", p.ignored[ignored], said, p.why)
		}
	}
	return nil
}
