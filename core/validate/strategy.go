package validate

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// strategy checks how content moves over members (D9).
func (fs rules) strategy(s *api.Strategy, at *strict.Place) {
	fs.choice(s.Type, at.Child("type"), api.StrategyRollingUpdate, api.StrategyExternal)
	if r := s.RollingUpdate; r != nil {
		at := at.Child("rollingUpdate")
		if s.Type == api.StrategyExternal {
			fs.Add(at, "a map", "nothing, because type is External", nil)
		}
		fs.share(r.MaxUnavailable, at.Child("maxUnavailable"))
		fs.share(r.MaxSurge, at.Child("maxSurge"))
		if n := r.UnavailablePeriodSeconds; n != nil && *n < 0 {
			fs.Add(at.Child("unavailablePeriodSeconds"), number(*n), "a number of seconds, 0 or more", nil)
		}
	}
	fs.applyStrategy(s.ApplyStrategy, at.Child("applyStrategy"))
	if s.DeleteStrategy != nil {
		fs.choice(s.DeleteStrategy.PropagationPolicy, at.In("deleteStrategy", "propagationPolicy"), api.PropagationDelete, api.PropagationAbandon)
	}
	fs.reportBack(s.ReportBackStrategy, at.Child("reportBackStrategy"))
}

// share checks a number of members, or a percentage of them.
func (fs rules) share(v *intstr.IntOrString, at *strict.Place) {
	const expected = `a number of 0 or more, or a percentage from "0%" to "100%"`
	switch {
	case v == nil:
	case v.Type == intstr.Int:
		if v.IntVal < 0 {
			fs.Add(at, number(v.IntVal), expected, nil)
		}
	default:
		text, percent := strings.CutSuffix(v.StrVal, "%")
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && !percent && n >= 0:
			fs.Add(at, strict.Quote(v.StrVal), "a number without quotes, or a percentage with its sign", strict.NumberNode(int64(n)))
		case n < 0 || n > 100 || strconv.Itoa(n) != text:
			fs.Add(at, strict.Quote(v.StrVal), expected, nil)
		}
	}
}

func (fs rules) applyStrategy(a *api.ApplyStrategy, at *strict.Place) {
	if a == nil {
		return
	}
	fs.choice(a.Type, at.Child("type"), api.ApplyClientSide, api.ApplyServerSide, api.ApplyReportDiff)
	if a.ServerSideApplyConfig != nil && a.Type != api.ApplyServerSide {
		fs.Add(at.Child("serverSideApplyConfig"), "a map", "nothing, unless type is ServerSideApply", nil)
	}
	fs.choice(a.ComparisonOption, at.Child("comparisonOption"), api.ComparePartial, api.CompareFull)
	fs.choice(a.WhenToApply, at.Child("whenToApply"), api.WhenToApplyAlways, api.WhenToApplyIfNotDrift)
	fs.choice(a.WhenToTakeOver, at.Child("whenToTakeOver"), api.TakeOverAlways, api.TakeOverIfNoDiff, api.TakeOverNever)
}

func (fs rules) reportBack(r *api.ReportBackStrategy, at *strict.Place) {
	if r == nil {
		return
	}
	if fs.choice(r.Type, at.Child("type"), api.ReportBackDisabled, api.ReportBackMirror) && r.Type == api.ReportBackMirror {
		fs.Add(at.Child("type"), strict.Quote(r.Type), "Disabled: members' status is not mirrored back into objects; `flotilla describe placement` shows it", nil)
	}
	if r.Destination != "" {
		fs.choice(r.Destination, at.Child("destination"), "OriginalResource", "WorkAPI")
		if r.Type != api.ReportBackMirror {
			fs.Add(at.Child("destination"), strict.Quote(r.Destination), "nothing, unless type is Mirror", nil)
		}
	}
}

// placementNotes remarks on settings that are allowed and seldom meant.
func placementNotes(p *api.Placement) []string {
	var notes []string
	if r := p.Spec.Strategy.RollingUpdate; r != nil && zeroShare(r.MaxUnavailable) {
		notes = append(notes, "spec.strategy.rollingUpdate.maxUnavailable is 0: members that hold this placement never receive changed content")
	}
	if a := p.Spec.Strategy.ApplyStrategy; a != nil && a.Type == api.ApplyReportDiff {
		notes = append(notes, "spec.strategy.applyStrategy.type is ReportDiff: nothing is written, differences are reported; what an earlier strategy wrote stays as it is")
	}
	if p.Spec.StatusReportingScope == api.StatusScopeNamespace {
		notes = append(notes, "spec.statusReportingScope: no copy of the status is made in the namespace; `flotilla describe placement` shows it")
	}
	return notes
}

func zeroShare(v *intstr.IntOrString) bool {
	return v != nil && (v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && v.StrVal == "0%")
}
