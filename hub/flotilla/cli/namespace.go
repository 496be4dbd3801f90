package cli

import "github.com/spf13/pflag"

func (a *Client) namespaceFlag(flags *pflag.FlagSet) {
	flags.StringVarP(&a.namespace, "namespace", "n", "", "namespace of the objects")
}
