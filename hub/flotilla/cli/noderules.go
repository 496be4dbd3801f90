package cli

import (
	"flotilla/core/capacity"

	"github.com/spf13/pflag"
)

// nodeRules are the settings of a hub that decisions about nodes depend on, where files take its place.
type nodeRules struct{ spotToSpot, ignorePreferences bool }

func (r *nodeRules) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&r.spotToSpot, "spot-to-spot", false, "with files that hold Nodes: spot nodes may be replaced by cheaper spot nodes, as disruption.spotToSpot of a hub says")
	flags.BoolVar(&r.ignorePreferences, "ignore-preferences", false, "with files that hold Nodes: what pods only prefer is left out, as disruption.ignorePreferences of a hub says")
}

func (r *nodeRules) rules() capacity.Rules {
	return capacity.Rules{SpotToSpot: r.spotToSpot, IgnorePreferences: r.ignorePreferences}
}

// unused refuses settings that nothing reads: a hub has its own, and files without Nodes need none.
func (r *nodeRules) unused() error {
	flag := ""
	switch {
	case r.spotToSpot:
		flag = "spot-to-spot"
	case r.ignorePreferences:
		flag = "ignore-preferences"
	default:
		return nil
	}
	return usagef("--%s is for files that hold Nodes; a hub decides as its configuration says, under disruption", flag)
}
