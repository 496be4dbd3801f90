package upgrade_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

const byLabels = `
strategy: {stages: [{name: one, groups: [{name: aa, memberSelector: {byLabel: env=prod}}]}, {name: two, groups: [{name: bb, memberSelector: {byLabel: tier=fe}}]}]}
upgrade: {type: Full, kubernetesVersion: 1.29.9}
`

// agentStates has the agent of a member state a label.
func (s *scene) agentStates(member, key, value string) {
	s.t.Helper()
	m, found := s.fleet.Member(member)
	require.True(s.t, found, member)
	facts := m.MemberFacts
	facts.Labels[key] = value
	facts.Agent.Stated = append(facts.Agent.Stated, key)
	require.NoError(s.t, s.fleet.Set(facts))
}

// A68: a label that the agent of a member states leaves that member out of an update run, and nobody else. What people wrote
// refuses the run, as does what would leave nobody.
func TestALabelThatAnAgentStatesLeavesItsOwnMemberOut(t *testing.T) {
	for name, c := range map[string]struct {
		members string
		agents  []string // "mallory tier:fe"
		refusal string
	}{
		"by its agent":                 {"oslo label=env:prod\nmallory label=env:prod", []string{"mallory tier:fe"}, ""},
		"both by its agent":            {"oslo label=env:prod\nmallory", []string{"mallory tier:fe", "mallory env:prod"}, ""},
		"by people":                    {"oslo label=env:prod\nmallory label=env:prod label=tier:fe", nil, "mallory in aa and bb"},
		"by people, beside its agent":  {"oslo label=env:prod\nmallory label=env:prod label=tier:fe", []string{"mallory zone:1"}, "mallory in aa and bb"},
		"one by people, one by agent":  {"oslo label=env:prod\nmallory label=env:prod\nrome label=env:prod label=tier:fe", []string{"mallory tier:fe"}, "rome in aa and bb"},
		"everybody, by their agents":   {"oslo label=env:prod\nmallory label=env:prod", []string{"mallory tier:fe", "oslo tier:fe"}, "mallory in aa and bb; oslo in aa and bb"},
		"an agent in one stage, alone": {"oslo label=env:prod", []string{"oslo tier:fe"}, "oslo in aa and bb"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.fixture(nil, "")
			s.members(nil, c.members)
			for _, text := range c.agents {
				member, label, _ := strings.Cut(text, " ")
				key, value, _ := strings.Cut(label, ":")
				s.agentStates(member, key, value)
			}
			said := s.createRun([]string{"r"}, byLabels)
			if c.refusal != "" {
				require.Contains(t, said, "refused 400 DuplicateMember\n  a member can be in one group only: "+c.refusal+"\n")
				return
			}
			require.Contains(t, said, "1 members")
			_, refusal := s.operate("r", api.VerbRunStart, &api.RunRequest{})
			require.Nil(t, refusal)
			s.until(s.now.Add(time.Hour))
			require.Equal(t, map[string]string{"oslo": "Completed"}, s.ended("r"))
			warnings := strings.Join(s.runs["r"].status.Warnings, "\n")
			require.Contains(t, warnings, "LeftOut: member mallory is in groups aa and bb by label ")
			require.Contains(t, warnings, `label tier="fe", which its agent alone states: correct that at the agent, or write it: flotilla label member mallory `)
		})
	}
}

// A68: a plan names who is left out, with the reason and what to do.
func TestAPlanNamesWhoIsLeftOut(t *testing.T) {
	s := newScene(t)
	s.fixture(nil, "")
	s.members(nil, "oslo,rome label=env:prod")
	s.agentStates("rome", "tier", "fe")
	require.Contains(t, s.createRun([]string{"r"}, byLabels), "1 members")
	report := upgrade.Plan([]upgrade.PlannedRun{{Run: s.runs["r"].object}}, s.view(""), s.now, upgrade.Assumptions{})
	at := slices.IndexFunc(report.Runs[0].Members, func(m upgrade.MemberPlan) bool { return m.Name == "rome" })
	require.GreaterOrEqual(t, at, 0)
	rome := report.Runs[0].Members[at]
	require.Equal(t, "Skipped LeftOut", fmt.Sprintf("%s %s", rome.State, rome.Reason))
	require.Contains(t, rome.Message, "flotilla label member rome tier=VALUE")
}

// A68: an agent that puts its member into a second group by the label of the group leaves it out too, and one that states it after
// the run was created is left out at the first start, with a Warning.
func TestAnAgentThatStatesALabelBeforeTheFirstStart(t *testing.T) {
	s := newScene(t)
	s.fixture(nil, "")
	s.members(nil, "oslo,rome label=env:prod")
	require.Contains(t, s.createRun([]string{"r"}, byLabels), "2 members")
	s.agentStates("rome", "tier", "fe")
	_, refusal := s.operate("r", api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	s.until(s.now.Add(time.Hour))
	require.Equal(t, map[string]string{"oslo": "Completed"}, s.ended("r"))
	var told []string
	for _, e := range s.events {
		if a := e.Audit("runner"); a.Reason == api.ReasonLeftOut {
			told = append(told, a.Type+" "+a.Member)
		}
	}
	require.Equal(t, []string{"Warning rome"}, told)
}
