package validate

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
)

// Default fills in what a placement leaves out. It changes p; calling it again
// changes nothing more.
func Default(p *api.Placement) {
	s := &p.Spec
	if s.RevisionHistoryLimit == nil {
		s.RevisionHistoryLimit = new(int32(api.DefaultRevisionHistoryLimit))
	}
	if p.Kind == api.KindClusterResourcePlacement {
		defaultString(&s.StatusReportingScope, api.StatusScopeCluster)
	}
	for i := range s.ResourceSelectors {
		if r := &s.ResourceSelectors[i]; r.Group == "" && r.Kind == "Namespace" {
			defaultString(&r.SelectionScope, api.ScopeNamespaceWithResources)
		}
	}
	if s.Policy == nil {
		s.Policy = &api.Policy{}
	}
	defaultPolicy(s.Policy)
	defaultStrategy(&s.Strategy)
}

func defaultString(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func defaultPolicy(p *api.Policy) {
	p.PlacementType = p.Type()
	for i := range p.TopologySpreadConstraints {
		c := &p.TopologySpreadConstraints[i]
		if c.MaxSkew == nil {
			c.MaxSkew = new(int32(api.DefaultMaxSkew))
		}
		defaultString(&c.WhenUnsatisfiable, api.DoNotSchedule)
	}
	for i := range p.Tolerations {
		defaultString(&p.Tolerations[i].Operator, api.TolerationEqual)
	}
}

func defaultStrategy(s *api.Strategy) {
	defaultString(&s.Type, api.StrategyRollingUpdate)
	if s.Type == api.StrategyRollingUpdate {
		if s.RollingUpdate == nil {
			s.RollingUpdate = &api.RollingUpdate{}
		}
		defaultRollingUpdate(s.RollingUpdate)
	}
	if s.ApplyStrategy == nil {
		s.ApplyStrategy = &api.ApplyStrategy{}
	}
	a := s.ApplyStrategy
	defaultString(&a.Type, api.ApplyClientSide)
	defaultString(&a.ComparisonOption, api.ComparePartial)
	defaultString(&a.WhenToApply, api.WhenToApplyAlways)
	defaultString(&a.WhenToTakeOver, api.TakeOverAlways)
	if s.DeleteStrategy == nil {
		s.DeleteStrategy = &api.DeleteStrategy{}
	}
	defaultString(&s.DeleteStrategy.PropagationPolicy, api.PropagationDelete)
}

func defaultRollingUpdate(r *api.RollingUpdate) {
	if r.MaxUnavailable == nil {
		r.MaxUnavailable = new(intstr.FromString(api.DefaultMaxUnavailable))
	}
	if r.MaxSurge == nil {
		r.MaxSurge = new(intstr.FromString(api.DefaultMaxSurge))
	}
	if r.UnavailablePeriodSeconds == nil {
		r.UnavailablePeriodSeconds = new(int32(api.DefaultUnavailablePeriodSeconds))
	}
}

// DefaultMember fills in what a MemberCluster leaves out.
func DefaultMember(m *api.MemberCluster) {
	if m.Spec.HeartbeatPeriodSeconds == 0 {
		m.Spec.HeartbeatPeriodSeconds = api.DefaultHeartbeat
	}
	if m.Spec.DeleteOptions == nil {
		m.Spec.DeleteOptions = &api.DeleteOptions{}
	}
	defaultString(&m.Spec.DeleteOptions.ValidationMode, api.ValidationStrict)
	defaultString(&m.Spec.DeleteOptions.WhenLeaving, api.WhenLeavingRetain)
}
