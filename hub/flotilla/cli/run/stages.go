package run

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/strict"
	"flotilla/hub/flotilla/cli/session"
)

// stageFlags describe the stages of a run.
type stageFlags struct {
	selector      string
	stages        []string
	groups        []string
	concurrency   []string
	failures      []string
	waits         []string
	approveBefore []string
	approveAfter  []string
	startAt       []string
}

func (f *stageFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&f.selector, "selector", "l", "", "only members whose labels match")
	flags.StringArrayVar(&f.stages, "stage", nil, "a stage, NAME or NAME:SELECTOR; in this order, one after another")
	flags.StringArrayVar(&f.groups, "group", nil, "a group, [STAGE/]NAME or [STAGE/]NAME:SELECTOR; the groups of a stage run beside each other")
	flags.StringArrayVar(&f.concurrency, "max-concurrency", nil, "how many members at once, a count or a percentage: VALUE for every stage, or SCOPE=VALUE")
	flags.StringArrayVar(&f.failures, "max-failures", nil, "how many members may fail, a count or a percentage: VALUE for every stage, or SCOPE=VALUE")
	flags.StringArrayVar(&f.waits, "wait", nil, "how long to wait after stages: DURATION, or STAGE=DURATION")
	flags.StringArrayVar(&f.approveBefore, "approve-before", nil, "a gate that waits for run approve before a stage or group")
	flags.StringArrayVar(&f.approveAfter, "approve-after", nil, "a gate that waits for run approve after a stage or group")
	flags.StringArrayVar(&f.startAt, "start-at", nil, "a gate that opens at a time of the week: SCOPE='Saturday 02:00 +01:00'")
}

// given says that any of the flags was given.
func (f *stageFlags) given() bool {
	return f.selector != "" || slices.ContainsFunc([][]string{
		f.stages, f.groups, f.concurrency, f.failures, f.waits, f.approveBefore, f.approveAfter, f.startAt,
	}, func(list []string) bool { return len(list) > 0 })
}

// strategy builds the stages, nil when no flag was given: all members one by one.
func (f *stageFlags) strategy() (*api.RunStrategy, error) {
	if !f.given() {
		return nil, nil
	}
	b := stageBuilder{}
	for _, text := range f.stages {
		name, selector, selects := strings.Cut(text, ":")
		stage := api.UpdateStage{Name: name}
		if selects {
			stage.MemberSelector = &api.MemberSelector{ByLabel: selector}
		}
		b.strategy.Stages = append(b.strategy.Stages, stage)
	}
	if len(b.strategy.Stages) == 0 {
		b.strategy.Stages = []api.UpdateStage{{Name: stage.DefaultName}}
	}
	for _, text := range f.groups {
		if err := b.group(text); err != nil {
			return nil, err
		}
	}
	b.narrow(f.selector)
	return &b.strategy, b.settings(f)
}

// stageBuilder puts a strategy together.
type stageBuilder struct {
	strategy api.RunStrategy
}

func (b *stageBuilder) group(text string) error {
	at, selector, selects := strings.Cut(text, ":")
	stageName, name, placed := strings.Cut(at, "/")
	if !placed {
		stageName, name = "", at
	}
	group := api.UpdateGroup{Name: name}
	if selects {
		group.MemberSelector = &api.MemberSelector{ByLabel: selector}
	}
	stages := b.strategy.Stages
	if stageName == "" && len(stages) > 1 {
		return session.Usagef("--group: found %q, expected STAGE/%s, as there are %d stages", text, name, len(stages))
	}
	i := 0
	if stageName != "" {
		if i = slices.IndexFunc(stages, func(s api.UpdateStage) bool { return s.Name == stageName }); i < 0 {
			return session.Usagef("--group: found %q, expected one of the stages %s%s", text, strings.Join(b.names(), ", "), session.Meant(session.Nearest(stageName, b.names())))
		}
	}
	stages[i].Groups = append(stages[i].Groups, group)
	return nil
}

func (b *stageBuilder) names() []string {
	var names []string
	for i := range b.strategy.Stages {
		names = append(names, b.strategy.Stages[i].Name)
	}
	return names
}

// narrow adds a selector to every stage. A stage with neither groups nor a selector holds all members.
func (b *stageBuilder) narrow(selector string) {
	for i := range b.strategy.Stages {
		s := &b.strategy.Stages[i]
		switch {
		case s.MemberSelector != nil && selector != "":
			s.MemberSelector.ByLabel = strings.Trim(s.MemberSelector.ByLabel+","+selector, ",")
		case s.MemberSelector == nil && (selector != "" || len(s.Groups) == 0):
			s.MemberSelector = &api.MemberSelector{ByLabel: selector}
		}
	}
}

// scope is what may be set of a stage or a group.
type scope struct {
	group                 string // its name; empty: it is a stage
	concurrency, failures *strict.CountOrPercent
	before, after         *[]api.GateConfiguration
	wait                  *int32
}

func stageScope(s *api.UpdateStage) scope {
	return scope{"", &s.MaxConcurrency, &s.MaxAllowedFailures, &s.BeforeGates, &s.AfterGates, &s.AfterStageWaitInSeconds}
}

func groupScope(g *api.UpdateGroup) scope {
	return scope{g.Name, &g.MaxConcurrency, &g.MaxAllowedFailures, &g.BeforeGates, &g.AfterGates, nil}
}

// scopes are the stages and groups that a name means: STAGE, GROUP or STAGE/GROUP; all stages without
// a name.
func (b *stageBuilder) scopes(flag, name string) ([]scope, error) {
	var found []scope
	var known []string
	for i := range b.strategy.Stages {
		s := &b.strategy.Stages[i]
		known = append(known, s.Name)
		if name == "" || name == s.Name {
			found = append(found, stageScope(s))
		}
		for j := range s.Groups {
			g := &s.Groups[j]
			known = append(known, g.Name)
			if name == s.Name+"/"+g.Name || name == g.Name && name != s.Name {
				found = append(found, groupScope(g))
			}
		}
	}
	if len(found) == 0 {
		return nil, session.Usagef("%s: found %q, expected a stage or group, %s%s", flag, name, strings.Join(known, ", "), session.Meant(session.Nearest(name, known)))
	}
	return found, nil
}

// each applies settings written VALUE or SCOPE=VALUE.
func (b *stageBuilder) each(flag string, settings []string, set func(scope, string) error) error {
	for _, text := range settings {
		name, value, scoped := strings.Cut(text, "=")
		if !scoped {
			name, value = "", text
		}
		scopes, err := b.scopes(flag, name)
		if err != nil {
			return err
		}
		for _, s := range scopes {
			if err := set(s, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *stageBuilder) settings(f *stageFlags) error {
	for _, kind := range []struct {
		flag     string
		settings []string
		set      func(scope, string) error
	}{
		{"--max-concurrency", f.concurrency, scope.atOnce},
		{"--max-failures", f.failures, scope.mayFail},
		{"--wait", f.waits, scope.waitAfter},
		{"--start-at", f.startAt, scope.startAt},
		{"--approve-before", withoutValues(f.approveBefore), scope.approveBefore},
		{"--approve-after", withoutValues(f.approveAfter), scope.approveAfter},
	} {
		if err := b.each(kind.flag, kind.settings, kind.set); err != nil {
			return err
		}
	}
	return nil
}

// withoutValues turns names of scopes into settings without a value.
func withoutValues(names []string) []string {
	settings := make([]string, len(names))
	for i, name := range names {
		settings[i] = name + "="
	}
	return settings
}

func (s scope) atOnce(value string) error {
	*s.concurrency = strict.CountOrPercent(value)
	return nil
}

func (s scope) mayFail(value string) error {
	*s.failures = strict.CountOrPercent(value)
	return nil
}

func (s scope) waitAfter(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > api.MaxStageWait*time.Second {
		return session.Usagef("--wait: found %q, expected a duration up to 720h, such as 1h30m", value)
	}
	if s.wait == nil {
		return session.Usagef("--wait: found group %q, expected a stage: only stages are waited after", s.group)
	}
	*s.wait = int32(d / time.Second)
	return nil
}

func (s scope) startAt(value string) error {
	parts := strings.Fields(value)
	if len(parts) == 2 {
		parts = append(parts, "+00:00")
	}
	if len(parts) != 3 {
		return session.Usagef("--start-at: found %q, expected a day, a time and an offset, such as prod='Saturday 02:00 +01:00'", value)
	}
	days, err := wordsAmong("--start-at", parts[:1], api.UpdateWeekdays)
	if err != nil {
		return err
	}
	*s.before = append(*s.before, api.GateConfiguration{
		Type: api.GateScheduledStart, ScheduledStartConfiguration: &api.ScheduledStart{StartDay: days[0], StartTime: parts[1], UTCOffset: parts[2]},
	})
	return nil
}

func (s scope) approveBefore(string) error { return approval(s.before) }

func (s scope) approveAfter(string) error { return approval(s.after) }

func approval(gates *[]api.GateConfiguration) error {
	*gates = append(*gates, api.GateConfiguration{Type: api.GateApproval})
	return nil
}
