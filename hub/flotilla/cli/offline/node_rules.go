package offline

import (
	"github.com/spf13/pflag"

	"flotilla/core/capacity"
	"flotilla/hub/flotilla/cli/session"
)

// NodeRules are the settings of a hub that decisions about nodes depend on, where files take its place.
type NodeRules struct{ spotToSpot, ignorePreferences bool }

// AddFlags adds the flags of settings that a hub has.
func (r *NodeRules) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&r.spotToSpot, "spot-to-spot", false, "with files that hold Nodes: spot nodes may be replaced by cheaper spot nodes, as disruption.spotToSpot of a hub says")
	flags.BoolVar(&r.ignorePreferences, "ignore-preferences", false, "with files that hold Nodes: what pods only prefer is left out, as disruption.ignorePreferences of a hub says")
}

// Rules are the settings as decisions take them.
func (r *NodeRules) Rules() capacity.Rules {
	return capacity.Rules{SpotToSpot: r.spotToSpot, IgnorePreferences: r.ignorePreferences}
}

// Unused refuses settings that nothing reads: a hub has its own, and files without Nodes need none.
func (r *NodeRules) Unused() error {
	flag := ""
	switch {
	case r.spotToSpot:
		flag = "spot-to-spot"
	case r.ignorePreferences:
		flag = "ignore-preferences"
	default:
		return nil
	}
	return session.Usagef("--%s is for files that hold Nodes; a hub decides as its configuration says, under disruption", flag)
}
