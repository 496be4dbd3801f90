package clusterapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// refuses says why an operation can never be carried out here, empty when it can.
func (s *survey) refuses(op *api.UpgradeOperation) string {
	if why := images(op); why != "" {
		return why
	}
	if op.ControlPlaneVersion != "" {
		if why := s.refusesControl(op.ControlPlaneVersion); why != "" {
			return why
		}
	}
	for _, p := range wanted(op) {
		if why := s.refusesPool(op, &p); why != "" {
			return why
		}
	}
	return ""
}

// images says that they are not chosen here, where an operation chooses them.
func images(op *api.UpgradeOperation) string {
	const taken = "Cluster API takes node images from the templates of its machines, and driver clusterapi changes no template"
	if op.Type == api.UpgradeNodeImageOnly {
		return taken + ": give MachineDeployments another template, or set upgrade.driver to exec"
	}
	for _, p := range op.NodePools {
		if p.To != "" {
			return fmt.Sprintf("node pool %s is to have image %s, but %s: leave nodeImageSelection out, or set upgrade.driver to exec", p.Pool, p.To, taken)
		}
		if p.ToVersion == "" && p.Newest {
			return fmt.Sprintf("node pool %s is to have the newest image, but %s: set upgrade.driver to exec", p.Pool, taken)
		}
	}
	return ""
}

func (s *survey) refusesControl(to string) string {
	switch {
	case s.control == nil:
		return s.cluster.String() + " names no control plane in spec.controlPlaneRef: what upgrades it is not Cluster API"
	case s.control.Spec.Version == "":
		return s.control.String() + " says no version in spec.version: what upgrades it is not Cluster API"
	}
	return built(s.control.String(), s.control.Spec.Version, to)
}

func (s *survey) refusesPool(op *api.UpgradeOperation, p *api.PoolUpgrade) string {
	found := s.called(p.Pool)
	switch {
	case len(found) == 0:
		return fmt.Sprintf("found no MachineDeployment of node pool %s, expected one of %s", p.Pool, s.names())
	case len(found) > 1:
		return fmt.Sprintf("%s and %s are both called node pool %s: give one of them another name", found[0], found[1], p.Pool)
	}
	d := found[0]
	switch {
	case d.Spec.Template.Spec.Version == "":
		return d.String() + " says no version in spec.template.spec.version: its machines' images do"
	case d.Spec.Rollout.Strategy.Type == management.RolloutOnDelete:
		return d.String() + " has rollout strategy OnDelete, so its machines stay as they are until somebody deletes them: set RollingUpdate"
	}
	if of := cmp.Or(op.ControlPlaneVersion, s.cluster.Spec.Topology.Version); d.managed && (!reaches(of, p.ToVersion) || !reaches(p.ToVersion, of)) {
		return fmt.Sprintf("node pool %s cannot go to %s: the topology of %s has one version for all, %s", p.Pool, p.ToVersion, s.cluster, of)
	}
	return built(d.String(), d.Spec.Template.Spec.Version, p.ToVersion)
}

// built says that a version with something behind it, such as v1.36.3+rke2r1, cannot become a plain one.
func built(what, is, to string) string {
	at := strings.IndexAny(is, "+-")
	if at < 0 || reaches(is, to) {
		return ""
	}
	return fmt.Sprintf("%s has version %s, and the operation does not say which build of %s%s... it is to have: set upgrade.driver to exec", what, is, spelled(to), is[at:at+1])
}

func (s *survey) names() string {
	var names []string
	for i := range s.pools {
		names = append(names, s.pools[i].name)
	}
	if len(names) == 0 {
		return "none, because the Cluster has no MachineDeployment"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// holdsUp says what keeps an operation from being begun now, empty when nothing does.
func (s *survey) holdsUp(op *api.UpgradeOperation) string {
	why := s.cluster.Halted()
	if s.control != nil && op.ControlPlaneVersion != "" {
		why = cmp.Or(why, s.control.Halted())
	}
	for _, w := range wanted(op) {
		for _, p := range s.called(w.Pool) {
			why = cmp.Or(why, p.Halted(), s.held(p))
		}
	}
	return why
}
