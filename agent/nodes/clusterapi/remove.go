package clusterapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// remove takes the next step of taking a machine away, and reports whether it is gone.
func (p *Provider) remove(ctx context.Context, s *survey, m *api.NodeMachine) (gone bool, err error) {
	one := s.find(m)
	switch {
	case one == nil && s.mark(m.Launch) != nil:
		return false, p.withdraw(ctx, s, m.Launch)
	case one == nil:
		if err := p.ours(ctx, m); err != nil {
			return false, err
		}
		return true, p.tidy(ctx, s)
	case one.DeletionTimestamp != nil:
		return false, p.drop(ctx, s, m.Launch)
	}
	d, err := s.owner(one)
	if err != nil {
		return false, err
	}
	if _, marked := one.Annotations[management.AnnotationDelete]; !marked {
		return false, p.mark(ctx, s, one, map[string]any{
			management.AnnotationDelete: "flotilla", management.AnnotationNoDrain: "flotilla", management.AnnotationNoDetach: "flotilla",
		})
	}
	return false, p.shrink(ctx, s, d, one, m.Launch)
}

// owner is the MachineDeployment that can give a Machine up.
func (s *survey) owner(m *management.Machine) (*management.Deployment, error) {
	if _, controls := m.Labels[management.LabelControlPlane]; controls {
		return nil, fmt.Errorf("machine %s is one of the control plane, which nodes of a NodePool are not", m.Name)
	}
	d := s.deployment(m.Deployment())
	if d == nil {
		return nil, fmt.Errorf("machine %s is of no MachineDeployment, and nothing else is made smaller: delete it by hand", m.Name)
	}
	if why := cmp.Or(s.cluster.Halted(), d.Halted()); why != "" {
		return nil, errors.New(why)
	}
	return d, nil
}

// withdraw gives up a launch that no Machine was claimed for. One that came meanwhile is claimed, and goes as any other.
func (p *Provider) withdraw(ctx context.Context, s *survey, launch string) error {
	noted := s.mark(launch)
	d := s.deployment(noted.Deployment)
	if d == nil || !s.holder(d).awaits(launch) { // it is gone, or somebody else says its number by now
		return p.drop(ctx, s, launch)
	}
	if m := s.comer(noted); m != nil {
		return p.mark(ctx, s, m, map[string]any{api.AnnotationLaunch: launch})
	}
	return p.write(ctx, s, s.holder(d), d, -1, func(n *notes) { delete(n.Launches, launch) })
}

// shrink makes a MachineDeployment smaller by one of its Machines, which is marked. That is done again where another one
// went in its place: then as many are left as there are to be.
func (p *Provider) shrink(ctx context.Context, s *survey, d *management.Deployment, m *management.Machine, launch string) error {
	if waits := s.awaited(d.Name); waits != "" {
		return fmt.Errorf("another machine of MachineDeployment %s comes first, for launch %s", d.Name, waits)
	}
	if s.removed(m) != nil && int64(len(s.of(d.Name))) > s.wanted(d) {
		return nil
	}
	return p.write(ctx, s, s.holder(d), d, -1, func(n *notes) {
		delete(n.Launches, launch)
		n.Removals[string(m.UID)] = m.Name
	})
}
