package api

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// strategy checks how content moves over members (placement.md 2.1, D9, D20).
func (fs rules) strategy(s *Strategy, at *place) {
	fs.choice(s.Type, at.child("type"), StrategyRollingUpdate, StrategyExternal)
	if s.Type == StrategyExternal {
		fs.add(at.child("type"), quote(s.Type), "RollingUpdate: staged runs of content, which External leaves the rollout to, are not built yet", nil)
	}
	if r := s.RollingUpdate; r != nil {
		at := at.child("rollingUpdate")
		if s.Type == StrategyExternal {
			fs.add(at, "a map", "nothing, because type is External", nil)
		}
		fs.share(r.MaxUnavailable, at.child("maxUnavailable"))
		fs.share(r.MaxSurge, at.child("maxSurge"))
		if n := r.UnavailablePeriodSeconds; n != nil && *n < 0 {
			fs.add(at.child("unavailablePeriodSeconds"), number(*n), "a number of seconds, 0 or more", nil)
		}
	}
	fs.applyStrategy(s.ApplyStrategy, at.child("applyStrategy"))
	if s.DeleteStrategy != nil {
		fs.choice(s.DeleteStrategy.PropagationPolicy, at.in("deleteStrategy", "propagationPolicy"), PropagationDelete, PropagationAbandon)
	}
	fs.reportBack(s.ReportBackStrategy, at.child("reportBackStrategy"))
}

// share checks a number of members, or a percentage of them.
func (fs rules) share(v *intstr.IntOrString, at *place) {
	const expected = `a number of 0 or more, or a percentage from "0%" to "100%"`
	switch {
	case v == nil:
	case v.Type == intstr.Int:
		if v.IntVal < 0 {
			fs.add(at, number(v.IntVal), expected, nil)
		}
	default:
		text, percent := strings.CutSuffix(v.StrVal, "%")
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && !percent && n >= 0:
			fs.add(at, quote(v.StrVal), "a number without quotes, or a percentage with its sign", numberNode(int64(n)))
		case n < 0 || n > 100 || strconv.Itoa(n) != text:
			fs.add(at, quote(v.StrVal), expected, nil)
		}
	}
}

func (fs rules) applyStrategy(a *ApplyStrategy, at *place) {
	if a == nil {
		return
	}
	fs.choice(a.Type, at.child("type"), ApplyClientSide, ApplyServerSide, ApplyReportDiff)
	if a.ServerSideApplyConfig != nil && a.Type != ApplyServerSide {
		fs.add(at.child("serverSideApplyConfig"), "a map", "nothing, unless type is ServerSideApply", nil)
	}
	fs.choice(a.ComparisonOption, at.child("comparisonOption"), ComparePartial, CompareFull)
	fs.choice(a.WhenToApply, at.child("whenToApply"), WhenToApplyAlways, WhenToApplyIfNotDrift)
	fs.choice(a.WhenToTakeOver, at.child("whenToTakeOver"), TakeOverAlways, TakeOverIfNoDiff, TakeOverNever)
}

func (fs rules) reportBack(r *ReportBackStrategy, at *place) {
	if r == nil {
		return
	}
	if fs.choice(r.Type, at.child("type"), ReportBackDisabled, ReportBackMirror) && r.Type == ReportBackMirror {
		fs.add(at.child("type"), quote(r.Type), "Disabled: members' status is not mirrored back into objects; `flotilla describe placement` shows it", nil)
	}
	if r.Destination != "" {
		fs.choice(r.Destination, at.child("destination"), "OriginalResource", "WorkAPI")
		if r.Type != ReportBackMirror {
			fs.add(at.child("destination"), quote(r.Destination), "nothing, unless type is Mirror", nil)
		}
	}
}

// placementNotes remarks on settings that are allowed and seldom meant.
func placementNotes(p *Placement) []string {
	var notes []string
	if r := p.Spec.Strategy.RollingUpdate; r != nil && zeroShare(r.MaxUnavailable) {
		notes = append(notes, "spec.strategy.rollingUpdate.maxUnavailable is 0: members that hold this placement never receive changed content")
	}
	if a := p.Spec.Strategy.ApplyStrategy; a != nil && a.Type == ApplyReportDiff {
		notes = append(notes, "spec.strategy.applyStrategy.type is ReportDiff: nothing is written, differences are reported; what an earlier strategy wrote stays as it is")
	}
	if p.Spec.StatusReportingScope == StatusScopeNamespace {
		notes = append(notes, "spec.statusReportingScope: no copy of the status is made in the namespace; `flotilla describe placement` shows it")
	}
	return notes
}

func zeroShare(v *intstr.IntOrString) bool {
	return v != nil && (v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && v.StrVal == "0%")
}
