package session

import (
	"github.com/spf13/cobra"
)

// flagPair is two flags of a command of which the second would be ignored beside the first.
type flagPair struct {
	command string
	flag    string
	value   string // of the flag; empty: any
	ignored string
	why     string
}

const asksNoHub = "it asks no hub"

var flagPairs = []flagPair{
	{"plan", "offline", "true", "url", asksNoHub},
	{"plan", "offline", "true", "context", asksNoHub},
	{"plan", "offline", "true", "creds", asksNoHub},
	{"plan", "offline", "true", "tls-ca", asksNoHub},
	{"version", "client", "true", "url", asksNoHub},
	{"version", "client", "true", "context", asksNoHub},
	{"version", "client", "true", "creds", asksNoHub},
	{"version", "client", "true", "tls-ca", asksNoHub},
	{"apply", "dry-run", "client", "url", asksNoHub},
	{"apply", "dry-run", "client", "context", asksNoHub},
	{"apply", "dry-run", "client", "creds", asksNoHub},
	{"apply", "dry-run", "client", "tls-ca", asksNoHub},
	{"delete", "wait", "false", "timeout", "nothing is waited for"},
	{"delete", "dry-run", "client", "timeout", "nothing is waited for"},
	{"delete", "dry-run", "server", "timeout", "nothing is waited for"},
	{"delete", "all", "true", "selector", "it means every object of the type"},
	{"delete", "all", "true", "field-selector", "it means every object of the type"},
	{"delete", "all", "true", "filename", "the files name the objects"},
	{"delete", "filename", "", "selector", "the files name the objects"},
	{"delete", "filename", "", "field-selector", "the files name the objects"},
	{"delete", "kustomize", "", "selector", "the files name the objects"},
	{"get", "all-namespaces", "true", "namespace", "it means every namespace"},
}

// ignoredFlag refuses a flag that would do nothing beside another.
func ignoredFlag(cmd *cobra.Command) error {
	for _, p := range flagPairs {
		if cmd.Name() != p.command || cmd.Parent() != cmd.Root() || !cmd.Flags().Changed(p.flag) || !cmd.Flags().Changed(p.ignored) {
			continue
		}
		if value := cmd.Flags().Lookup(p.flag).Value.String(); p.value == "" || value == p.value {
			said := "--" + p.flag
			if p.value != "" && p.value != "true" {
				said += "=" + p.value
			}
			return Usagef("found --%s beside %s, expected one of them: %s", p.ignored, said, p.why)
		}
	}
	return nil
}
