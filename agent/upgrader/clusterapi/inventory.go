package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// Inventory is what Cluster API knows of versions: the oldest of the control plane, and of the machines of each node pool.
func (d *Driver) Inventory(ctx context.Context) (api.MemberInventory, error) {
	s, err := d.look(ctx)
	if err != nil {
		return api.MemberInventory{}, err
	}
	i := api.MemberInventory{NodePools: []api.NodePoolFacts{}, CurrentOperation: s.underWay()}
	if s.control != nil {
		i.ControlPlaneVersion = oldest(s.control.Running()...)
	}
	for n := range s.pools {
		p := &s.pools[n]
		i.NodePools = append(i.NodePools, api.NodePoolFacts{Name: p.name, KubernetesVersion: s.runs(p)})
	}
	slices.SortFunc(i.NodePools, func(a, b api.NodePoolFacts) int { return strings.Compare(a.Name, b.Name) })
	return i, nil
}

// runs is the oldest version of the machines of a pool; of one without machines the version that they would have.
func (s *survey) runs(p *pool) string {
	var versions []string
	for _, m := range s.machines[p.Name] {
		versions = append(versions, kubelet(m))
	}
	if len(versions) == 0 {
		return p.Spec.Template.Spec.Version
	}
	return oldest(versions...)
}

// underWay names an upgrade that somebody else has begun and that Cluster API is not through with, empty when there is
// none. What an operation of this driver began it does not name: another goes on with that.
func (s *survey) underWay() string {
	if s.managed() && s.control != nil {
		to := s.cluster.Spec.Topology.Version
		if s.marks[s.cluster.String()].Version == to {
			return ""
		}
		if !reaches(s.control.Spec.Version, to) {
			return upgradeOf(s.cluster.String(), to)
		}
	}
	if c := s.control; c != nil {
		running := oldest(c.Running()...)
		if running != "" && !reaches(running, c.Spec.Version) && s.marks[c.String()].Version != c.Spec.Version {
			return upgradeOf(c.String(), c.Spec.Version)
		}
	}
	for i := range s.pools {
		p := &s.pools[i]
		to := p.Spec.Template.Spec.Version
		if to != "" && p.Spec.Rollout.Strategy.Type != management.RolloutOnDelete && !reaches(s.made(p), to) && s.marks[p.String()].Version != to {
			return upgradeOf(p.String(), to)
		}
	}
	return ""
}

// made is the oldest version that machines of a pool were made for.
func (s *survey) made(p *pool) string {
	versions := []string{p.Spec.Template.Spec.Version}
	for _, m := range s.machines[p.Name] {
		versions = append(versions, m.Spec.Version)
	}
	return oldest(versions...)
}

func upgradeOf(what, to string) string { return fmt.Sprintf("of Cluster API, %s to %s,", what, to) }
