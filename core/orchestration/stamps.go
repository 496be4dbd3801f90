package orchestration

import (
	"cmp"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
)

// stamps are those of the pools that have nodes which are up and need one, by the pools' names.
func stamps(s *simulate.State) []api.PoolStamp {
	all := map[string]*capacity.Pool{}
	for _, p := range s.Pools {
		if !p.Deleting {
			all[p.Name] = p
		}
	}
	wanted := map[string]api.PoolStamp{}
	for _, n := range s.Cluster.Nodes {
		p := all[n.Pool]
		if p == nil || !n.State.Initialized || n.State.Deleting {
			continue
		}
		stamp := api.PoolStamp{Pool: p.Name, Hash: p.Hash, ClassHash: p.ClassHash}
		if !capacity.Stamped(n.State.Annotations, &stamp) {
			wanted[p.Name] = stamp
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Values(wanted), func(a, b api.PoolStamp) int { return cmp.Compare(a.Pool, b.Pool) })
}
