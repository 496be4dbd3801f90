package why

import (
	"fmt"
	"slices"

	"flotilla/core/api"
)

// join: a healthy member of the name comes into the fleet.
func (s *search) join() candidate {
	m := &api.Member{Name: s.name, Labels: map[string]string{api.LabelMemberName: s.name}}
	s.heal(m)
	return s.single(costJoin, Flip{
		Kind: FlipJoin, member: m, Text: fmt.Sprintf("a healthy member named %s joins: its agent enrols with a token, then it is admitted", s.name),
		Command: fmt.Sprintf("flotilla member enrol %s > %s.token", s.name, s.name),
	})
}

// heal makes the member eligible.
func (s *search) heal(m *api.Member) {
	m.HasAgent, m.Leaving, m.Joined, m.Healthy = true, false, "True", "True"
	m.LastHeartbeat, m.HealthChanged = s.in.Now, s.in.Now
}

func (s *search) health() []candidate {
	if s.member.Leaving {
		m := s.changed(func(m *api.Member) { m.Leaving = false })
		return []candidate{s.single(costHealth, Flip{
			Kind: FlipHealth, member: m, Text: fmt.Sprintf("member %s stays in the fleet instead of leaving", s.name),
		})}
	}
	beats := s.changed(func(m *api.Member) { m.LastHeartbeat = s.in.Now })
	heals := s.changed(s.heal)
	return []candidate{
		s.single(costHealth, Flip{Kind: FlipHealth, member: beats, Text: fmt.Sprintf("member %s sends heartbeats again", s.name)}),
		s.single(costHealth+1, Flip{Kind: FlipHealth, member: heals, Text: fmt.Sprintf("the agent of member %s joins, sends heartbeats and reports healthy", s.name)}),
	}
}

func (s *search) namespace() candidate {
	m := s.changed(func(m *api.Member) {
		m.NamespacesKnown = true
		m.Namespaces = append(m.Namespaces, s.in.Namespace)
	})
	return s.single(costNamespace, Flip{
		Kind: FlipNamespace, member: m, Text: fmt.Sprintf("namespace %s on member %s", s.in.Namespace, s.name),
	})
}

// taints: each taint removed, each tolerated, all tolerated.
func (s *search) taints() []candidate {
	var candidates []candidate
	for i, taint := range s.member.Taints {
		m := s.changed(func(m *api.Member) { m.Taints = slices.Delete(m.Taints, i, i+1) })
		candidates = append(candidates,
			s.single(costTaint, Flip{
				Kind: FlipTaint, member: m, Text: fmt.Sprintf("taint %s removed from member %s", taint, s.name),
				Command: fmt.Sprintf("flotilla taint member %s %s-", s.name, taint.Key),
			}),
			s.tolerate(costToleration, "toleration of "+taint.String(), api.Toleration{
				Key: taint.Key, Operator: api.TolerationEqual, Value: taint.Value, Effect: taint.Effect,
			}))
	}
	return append(candidates, s.tolerate(costToleration+1, "toleration of every taint (operator Exists without key)",
		api.Toleration{Operator: api.TolerationExists}))
}

func (s *search) tolerate(cost int, text string, t api.Toleration) candidate {
	p := s.changedPolicy(func(p *api.Policy) { p.Tolerations = append(p.Tolerations, t) })
	return s.single(cost, Flip{
		Kind: FlipToleration, policy: p, Text: text + " in spec.policy.tolerations", Command: s.command("edit"),
	})
}

// unpicking: what would take a picked member out.
func (s *search) unpicking() []candidate {
	leaves := s.changed(func(m *api.Member) { m.Leaving = true })
	candidates := []candidate{s.single(costLeave, Flip{
		Kind: FlipLeave, member: leaves, Text: fmt.Sprintf("member %s leaves the fleet; a taint only keeps new placements off it", s.name),
		Command: "flotilla member leave " + s.name,
	})}
	switch s.in.Policy.Type() {
	case api.PickFixed:
		return append(candidates, s.names(false))
	case api.PickN:
		candidates = append(candidates, s.scale())
	}
	taint := api.Taint{Key: "flotilla.io/keep-off", Value: s.name, Effect: api.EffectNoSchedule}
	tainted := s.changed(func(m *api.Member) { m.Taints = append(m.Taints, taint) })
	candidates = append(candidates, s.single(costTaint, Flip{
		Kind: FlipTaint, member: tainted, Text: fmt.Sprintf("taint %s on member %s", taint, s.name),
		Command: fmt.Sprintf("flotilla taint member %s %s", s.name, taint),
	}))
	return append(candidates, s.unlabel()...)
}
