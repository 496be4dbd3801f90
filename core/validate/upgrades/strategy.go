package upgrades

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/strict"
)

const (
	concurrencyExpected = `a count from 1 or a percentage from 1% to 100%, such as 3 or "25%"`
	failuresExpected    = `a count from 0 or a percentage from 0% to 100%, such as 0 or "25%"`
)

// UpdateStrategy returns every fault of a strategy.
func UpdateStrategy(s *api.UpdateStrategy) strict.Faults {
	u := &faults{object: api.KindUpdateStrategy + "/" + s.Name}
	u.strategyObject(s)
	return u.list()
}

func (u *faults) strategyObject(s *api.UpdateStrategy) {
	u.name("metadata.name", s.Name)
	u.strategy("spec", &s.Spec.RunStrategy)
	u.policy("spec.policy", s.Spec.Policy)
}

func (u *faults) strategy(path string, s *api.RunStrategy) {
	path += ".stages"
	if len(s.Stages) == 0 {
		u.addFix(path, "nothing", "at least one stage", strict.ListNode(strict.EmptyMap().With("name", strict.TextNode("all")).With("groups", groupsNode())))
	}
	if len(s.Stages) > api.MaxStages {
		u.add(path, fmt.Sprintf("%d stages", len(s.Stages)), fmt.Sprintf("at most %d", api.MaxStages))
	}
	stages, groups := map[string]string{}, map[string]string{}
	for i := range s.Stages {
		at := fmt.Sprintf("%s[%d]", path, i)
		u.unique(at+".name", s.Stages[i].Name, "stage", stages)
		u.stage(at, &s.Stages[i], groups)
	}
}

// groupsNode is an example of groups: the one of members whose update group is default.
func groupsNode() *strict.Node {
	return strict.ListNode(strict.EmptyMap().With("name", strict.TextNode("default")))
}

// unique checks a name and that it was not seen before; seen maps names to paths.
func (u *faults) unique(path, name, what string, seen map[string]string) {
	u.name(path, name)
	if first, ok := seen[name]; ok {
		u.add(path, strict.Shown(name), "a "+what+" name of its own; "+first+" has it already")
		return
	}
	seen[name] = path
}

func (u *faults) stage(path string, s *api.UpdateStage, groups map[string]string) {
	u.selector(path+".memberSelector", s.MemberSelector)
	u.numbers(path, s.MaxConcurrency, s.MaxAllowedFailures)
	u.within(path+".afterStageWaitInSeconds", int(s.AfterStageWaitInSeconds), 0, api.MaxStageWait)
	u.gates(path, s.BeforeGates, s.AfterGates)
	if len(s.Groups) == 0 && s.MemberSelector == nil {
		u.addFix(path+".groups", "nothing", "groups, or a memberSelector for one group of all it selects", groupsNode())
	}
	if len(s.Groups) > api.MaxGroupsPerStage {
		u.add(path+".groups", fmt.Sprintf("%d groups", len(s.Groups)), fmt.Sprintf("at most %d", api.MaxGroupsPerStage))
	}
	for i := range s.Groups {
		g, at := &s.Groups[i], fmt.Sprintf("%s.groups[%d]", path, i)
		u.unique(at+".name", g.Name, "group", groups)
		u.selector(at+".memberSelector", g.MemberSelector)
		u.numbers(at, g.MaxConcurrency, g.MaxAllowedFailures)
		u.gates(at, g.BeforeGates, g.AfterGates)
	}
}

func (u *faults) numbers(path string, concurrency, failures strict.CountOrPercent) {
	if concurrency != "" {
		u.match(path+".maxConcurrency", string(concurrency), concurrencyPattern, concurrencyExpected)
	}
	if failures != "" {
		u.match(path+".maxAllowedFailures", string(failures), failuresPattern, failuresExpected)
	}
}

func (u *faults) gates(path string, before, after []api.GateConfiguration) {
	for i := range before {
		u.gate(fmt.Sprintf("%s.beforeGates[%d]", path, i), &before[i], before[:i])
	}
	for i := range after {
		at := fmt.Sprintf("%s.afterGates[%d]", path, i)
		if after[i].Type == api.GateScheduledStart {
			u.add(at+".type", strict.Shown(api.GateScheduledStart), "Approval; a scheduled start is legal before a stage or group only")
			u.gateName(at, &after[i])
			continue
		}
		u.gate(at, &after[i], after[:i])
	}
}

func (u *faults) gate(path string, g *api.GateConfiguration, earlier []api.GateConfiguration) {
	u.gateName(path, g)
	for i := range earlier {
		if earlier[i].Type == g.Type {
			u.add(path+".type", strict.Shown(g.Type), "at most one gate of a type at one place")
		}
	}
	schedule, at := g.ScheduledStartConfiguration, path+".scheduledStartConfiguration"
	kind := strict.Meant(g.Type, api.GateApproval, api.GateScheduledStart)
	if kind != g.Type || kind == "" {
		var fix *strict.Node
		if kind != "" {
			fix = strict.TextNode(kind)
		}
		u.addFix(path+".type", strict.Shown(g.Type), "Approval or ScheduledStart", fix)
	}
	switch {
	case kind == api.GateApproval && schedule != nil:
		u.add(at, "a schedule", "nothing beside type Approval")
	case kind == api.GateScheduledStart && schedule == nil:
		u.addFix(at, "nothing", "startDay, startTime and utcOffset",
			strict.EmptyMap().With("startDay", strict.TextNode("Saturday")).With("startTime", strict.TextNode("02:00")).With("utcOffset", strict.TextNode("+00:00")))
	case schedule != nil:
		u.word(at+".startDay", schedule.StartDay, false, api.UpdateWeekdays...)
		u.match(at+".startTime", schedule.StartTime, clockPattern, "HH:MM from 00:00 to 23:59")
		u.match(at+".utcOffset", schedule.UTCOffset, offsetPattern, "±HH:MM within 14 hours")
	}
}

func (u *faults) gateName(path string, g *api.GateConfiguration) {
	if len(g.DisplayName) > api.MaxDisplayName {
		u.add(path+".displayName", fmt.Sprintf("%d characters", len(g.DisplayName)), fmt.Sprintf("at most %d", api.MaxDisplayName))
	}
}

func (u *faults) policy(path string, p *api.UpdatePolicy) {
	if p == nil {
		return
	}
	u.word(path+".onIneligible", p.OnIneligible, true, api.PolicyRefuse, api.PolicySkip)
	u.word(path+".onStopped", p.OnStopped, true, api.PolicySkip, api.PolicyWait, api.PolicyFail)
	u.word(path+".onUnreachable", p.OnUnreachable, true, api.PolicyWait, api.PolicySkip, api.PolicyFail)
	u.word(path+".onPendingTimeout", p.OnPendingTimeout, true, api.PolicyNotify, api.PolicySkip, api.PolicyFail)
	u.word(path+".checks", p.Checks, true, api.ChecksBlock, api.ChecksWarn, api.ChecksIgnore)
	u.numbers(path, "", p.MaxAllowedFailures)
	spans := []struct {
		name  string
		value float64
	}{
		{"memberTimeout", api.Span(p.MemberTimeout).Seconds()},
		{"pendingTimeout", api.Span(p.PendingTimeout).Seconds()},
		{"minRemaining", api.Span(p.MinRemaining).Seconds()},
	}
	for _, span := range spans {
		if span.value < 0 {
			u.add(path+"."+span.name, fmt.Sprintf("%gs", span.value), "a duration that is not negative, such as 1h30m")
		}
	}
	refused := []struct {
		name string
		flag *bool
	}{
		{"chained", p.Chained},
		{"catchUp", p.CatchUp},
		{"splitAtWindowClose", p.SplitAtWindowClose},
		{"allowRecoveryPath", p.AllowRecoveryPath},
	}
	for _, option := range refused {
		if option.flag != nil {
			u.add(path+"."+option.name, fmt.Sprint(*option.flag), "nothing; this option is not supported")
		}
	}
}
