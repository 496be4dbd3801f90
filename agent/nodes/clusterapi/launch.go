package clusterapi

import (
	"cmp"
	"context"
	"fmt"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// launch takes the next step of a launch. It says what is waited for, empty when there is an answer.
func (p *Provider) launch(ctx context.Context, s *survey, l *api.NodeLaunch) (answer api.LaunchedNode, waits string, err error) {
	noted := s.mark(l.Name)
	m := s.claimed(l.Name)
	switch {
	case m != nil && m.DeletionTimestamp != nil && noted == nil:
		return api.LaunchedNode{Failed: fmt.Sprintf("Machine %s, which was made for it, is being deleted", m.Name)}, "", nil
	case m != nil && m.DeletionTimestamp == nil && m.Spec.ProviderID == "":
		return answer, said(m), nil
	case m != nil && m.DeletionTimestamp == nil:
		return s.launched(m), "", p.drop(ctx, s, l.Name)
	case noted != nil:
		return p.await(ctx, s, l, noted)
	}
	return p.grow(ctx, s, l)
}

// launched is the answer to a launch that has a machine.
func (s *survey) launched(m *management.Machine) api.LaunchedNode {
	answer := api.LaunchedNode{Node: m.Status.NodeRef.Name, ProviderID: m.Spec.ProviderID}
	if d := s.deployment(m.Deployment()); d != nil {
		answer.Labels = declared(d)
	}
	return answer
}

// said is what a Machine that has no machine yet waits for.
func said(m *management.Machine) string {
	why := management.Says(m.Status.Conditions, "BootstrapConfigReady", "InfrastructureReady")
	return fmt.Sprintf("Machine %s is %s", m.Name, cmp.Or(why, m.Status.Phase, "new"))
}

// await claims a Machine that came since a MachineDeployment was made larger.
func (p *Provider) await(ctx context.Context, s *survey, l *api.NodeLaunch, noted *mark) (answer api.LaunchedNode, waits string, err error) {
	d := s.deployment(noted.Deployment)
	if d == nil {
		return api.LaunchedNode{Failed: fmt.Sprintf("MachineDeployment %s, which was to make it, is gone", noted.Deployment)}, "", p.drop(ctx, s, l.Name)
	}
	m := s.comer(noted)
	if m == nil {
		why := cmp.Or(s.cluster.Halted(), d.Halted(), management.Tells(d.Status.Conditions, "ScalingUp"), "MachineDeployment "+d.Name+" has made no Machine for it yet")
		return answer, why, nil
	}
	return answer, "Machine " + m.Name + " is new", p.mark(ctx, s, m, map[string]any{api.AnnotationLaunch: l.Name})
}

// mark annotates a Machine.
func (p *Provider) mark(ctx context.Context, s *survey, m *management.Machine, annotations map[string]any) error {
	s.changed = true
	return p.o.View.Patch(ctx, management.Machines, m.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": m.ResourceVersion, "annotations": annotations},
	})
}

// grow makes a MachineDeployment of the pool larger by one. A number that goes up and down at the same time would change
// nothing, so one in which a Machine is about to go is not made larger before that shows.
func (p *Provider) grow(ctx context.Context, s *survey, l *api.NodeLaunch) (answer api.LaunchedNode, waits string, err error) {
	if why := s.cluster.Halted(); why != "" {
		return answer, why, nil
	}
	d, why := s.choose(l)
	switch {
	case d == nil:
		return api.LaunchedNode{Failed: why}, "", nil
	case s.leaving(d.Name) != "":
		return answer, fmt.Sprintf("MachineDeployment %s gives up Machine %s first", d.Name, s.leaving(d.Name)), nil
	}
	after, beside := s.newest(d.Name)
	err = p.write(ctx, s, s.holder(d), d, 1, func(n *notes) {
		if n.Launches == nil {
			n.Launches = map[string]mark{}
		}
		n.Launches[l.Name] = mark{Deployment: d.Name, After: after, Beside: beside}
	})
	return answer, "MachineDeployment " + d.Name + " has made no Machine for it yet", err
}
