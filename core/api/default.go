package api

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Default fills in what a placement leaves out (placement.md 2.1). It changes p; calling it again
// changes nothing more.
func Default(p *Placement) {
	s := &p.Spec
	if s.RevisionHistoryLimit == nil {
		s.RevisionHistoryLimit = new(int32(DefaultRevisionHistoryLimit))
	}
	if p.Kind == KindClusterResourcePlacement {
		defaultString(&s.StatusReportingScope, StatusScopeCluster)
	}
	for i := range s.ResourceSelectors {
		if r := &s.ResourceSelectors[i]; r.Group == "" && r.Kind == "Namespace" {
			defaultString(&r.SelectionScope, ScopeNamespaceWithResources)
		}
	}
	if s.Policy == nil {
		s.Policy = &Policy{}
	}
	defaultPolicy(s.Policy)
	defaultStrategy(&s.Strategy)
}

func defaultString(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func defaultPolicy(p *Policy) {
	p.PlacementType = p.Type()
	for i := range p.TopologySpreadConstraints {
		c := &p.TopologySpreadConstraints[i]
		if c.MaxSkew == nil {
			c.MaxSkew = new(int32(DefaultMaxSkew))
		}
		defaultString(&c.WhenUnsatisfiable, DoNotSchedule)
	}
	for i := range p.Tolerations {
		defaultString(&p.Tolerations[i].Operator, TolerationEqual)
	}
}

func defaultStrategy(s *Strategy) {
	defaultString(&s.Type, StrategyRollingUpdate)
	if s.Type == StrategyRollingUpdate {
		if s.RollingUpdate == nil {
			s.RollingUpdate = &RollingUpdate{}
		}
		defaultRollingUpdate(s.RollingUpdate)
	}
	if s.ApplyStrategy == nil {
		s.ApplyStrategy = &ApplyStrategy{}
	}
	a := s.ApplyStrategy
	defaultString(&a.Type, ApplyClientSide)
	defaultString(&a.ComparisonOption, ComparePartial)
	defaultString(&a.WhenToApply, WhenToApplyAlways)
	defaultString(&a.WhenToTakeOver, TakeOverAlways)
	if s.DeleteStrategy == nil {
		s.DeleteStrategy = &DeleteStrategy{}
	}
	defaultString(&s.DeleteStrategy.PropagationPolicy, PropagationDelete)
}

func defaultRollingUpdate(r *RollingUpdate) {
	if r.MaxUnavailable == nil {
		r.MaxUnavailable = new(intstr.FromString(DefaultMaxUnavailable))
	}
	if r.MaxSurge == nil {
		r.MaxSurge = new(intstr.FromString(DefaultMaxSurge))
	}
	if r.UnavailablePeriodSeconds == nil {
		r.UnavailablePeriodSeconds = new(int32(DefaultUnavailablePeriodSeconds))
	}
}

// DefaultMember fills in what a MemberCluster leaves out.
func DefaultMember(m *MemberCluster) {
	if m.Spec.HeartbeatPeriodSeconds == 0 {
		m.Spec.HeartbeatPeriodSeconds = DefaultHeartbeat
	}
	if m.Spec.DeleteOptions == nil {
		m.Spec.DeleteOptions = &DeleteOptions{}
	}
	defaultString(&m.Spec.DeleteOptions.ValidationMode, ValidationStrict)
	defaultString(&m.Spec.DeleteOptions.WhenLeaving, WhenLeavingRetain)
}
