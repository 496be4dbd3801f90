package clusterapi

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// survey is one look at the objects of a Cluster.
type survey struct {
	cluster     *management.Cluster
	deployments []management.Deployment
	machines    []management.Machine
	holders     []*holder
	changed     bool // something was written since
}

// read looks at MachineDeployments before Machines: of what was noted on those, these show what came of it.
func read(ctx context.Context, v *management.View) (*survey, error) {
	s := &survey{}
	var err error
	if s.cluster, err = v.Cluster(ctx); err != nil {
		return nil, err
	}
	if s.deployments, err = v.Deployments(ctx); err != nil {
		return nil, err
	}
	if s.machines, err = v.Machines(ctx); err != nil {
		return nil, err
	}
	s.holders, err = holdersOf(s)
	return s, err
}

// deployment is the one of a name, nil when there is none.
func (s *survey) deployment(name string) *management.Deployment {
	at := slices.IndexFunc(s.deployments, func(d management.Deployment) bool { return d.Name == name })
	if at < 0 {
		return nil
	}
	return &s.deployments[at]
}

// claimed is the Machine of a launch, nil while it has none; one that is being deleted only where there is no other.
func (s *survey) claimed(launch string) *management.Machine {
	var going *management.Machine
	for i := range s.machines {
		m := &s.machines[i]
		switch {
		case launch == "" || m.Annotations[api.AnnotationLaunch] != launch:
		case m.DeletionTimestamp == nil:
			return m
		default:
			going = m
		}
	}
	return going
}

// find is the Machine of a node or of a launch, nil when there is none.
func (s *survey) find(m *api.NodeMachine) *management.Machine {
	for i := range s.machines {
		one := &s.machines[i]
		if m.ProviderID != "" && one.Spec.ProviderID == m.ProviderID {
			return one
		}
		if m.ProviderID == "" && m.Node != "" && one.Status.NodeRef.Name == m.Node {
			return one
		}
	}
	if one := s.claimed(m.Launch); one != nil && (m.ProviderID == "" || one.Spec.ProviderID == "") {
		return one
	}
	return nil
}

// of are the Machines of a MachineDeployment that are not being deleted.
func (s *survey) of(deployment string) []*management.Machine {
	var out []*management.Machine
	for i := range s.machines {
		if m := &s.machines[i]; m.Deployment() == deployment && m.DeletionTimestamp == nil {
			out = append(out, m)
		}
	}
	return out
}

// newest is when the last Machine of a MachineDeployment was made, and which were made then.
func (s *survey) newest(deployment string) (at metav1.Time, names []string) {
	for i := range s.machines {
		m := &s.machines[i]
		if m.Deployment() != deployment || m.CreationTimestamp.Before(&at) {
			continue
		}
		if at.Before(&m.CreationTimestamp) {
			at, names = m.CreationTimestamp, nil
		}
		names = append(names, m.Name)
	}
	return at, names
}

// comer is a Machine that came after a mark and that no launch has claimed, the first by time and name; nil when none has.
func (s *survey) comer(of *mark) *management.Machine {
	var first *management.Machine
	for _, m := range s.of(of.Deployment) {
		_, claimed := m.Annotations[api.AnnotationLaunch]
		_, goes := m.Annotations[management.AnnotationDelete]
		old := m.CreationTimestamp.Before(&of.After) || m.CreationTimestamp.Equal(&of.After) && slices.Contains(of.Beside, m.Name)
		if claimed || goes || old {
			continue
		}
		if first == nil || m.CreationTimestamp.Before(&first.CreationTimestamp) || m.CreationTimestamp.Equal(&first.CreationTimestamp) && m.Name < first.Name {
			first = m
		}
	}
	return first
}

// awaited is a launch for which a MachineDeployment was made larger and whose Machine is not there yet, empty for none.
func (s *survey) awaited(deployment string) string {
	for _, h := range s.holders {
		for _, name := range slices.Sorted(maps.Keys(h.notes.Launches)) {
			if m := s.claimed(name); h.notes.Launches[name].Deployment == deployment && (m == nil || m.DeletionTimestamp != nil) {
				return name
			}
		}
	}
	return ""
}

// leaving is a Machine for which a MachineDeployment was made smaller and that does not go yet, empty for none.
func (s *survey) leaving(deployment string) string {
	for _, m := range s.of(deployment) {
		if s.removed(m) != nil {
			return m.Name
		}
	}
	return ""
}
