package resource

import "github.com/spf13/pflag"

// NamespaceFlag adds -n.
func (a *Client) NamespaceFlag(flags *pflag.FlagSet) {
	flags.StringVarP(&a.Namespace, "namespace", "n", "", "namespace of the objects")
}
