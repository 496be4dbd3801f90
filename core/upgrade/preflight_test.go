package upgrade_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A51, H42: a version that one member states refuses the start of a run only where its policy is to refuse and there is a way that
// the rules forbid. A member that is ahead of the target, if by a major version, is skipped, and a run that skips goes on without any.
func TestAVersionThatAMemberStatesRefusesAStartByPolicyAlone(t *testing.T) {
	const ahead, split = "cp=2.0.0", "cp=2.0.0 pools=np1:U-202401.17.1@1.29.2"
	for name, c := range map[string]struct{ policy, facts, mallory string }{
		"ahead by a major version":               {"", ahead, "Skipped AheadOfTarget"},
		"ahead by a major version, Refuse":       {"Refuse", ahead, "Skipped AheadOfTarget"},
		"ahead by a major version, Skip":         {"Skip", ahead, "Skipped AheadOfTarget"},
		"ahead, with pools behind":               {"", split, ""},
		"ahead, with pools behind, Refuse":       {"Refuse", split, ""},
		"ahead, with pools behind, Skip":         {"Skip", split, "Skipped UnsupportedVersion"},
		"behind by a major version":              {"", "cp=0.29.2", ""},
		"behind by a major version, Skip":        {"Skip", "cp=0.29.2", "Skipped UnsupportedVersion"},
		"behind by more than a minor":            {"", "cp=1.20.0", ""},
		"behind by more than a minor, Refuse":    {"Refuse", "cp=1.20.0", ""},
		"behind by more than a minor, Skip":      {"Skip", "cp=1.20.0", "Skipped MinorVersionGap"},
		"a version that cannot be read":          {"", "cp=1.28.0-evil", "Pending MemberUnreachable"},
		"a version that cannot be read, Refuse":  {"Refuse", "cp=none", "Pending MemberUnreachable"},
		"a version that the rules allow, Refuse": {"Refuse", "cp=1.29.4", "Completed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.fixture(nil, "")
			s.members(nil, "a,b,c region=weu\nmallory region=weu "+c.facts)
			spec := "upgrade: {type: Full, kubernetesVersion: 1.30.5}\nstrategy: {stages: [{name: s, memberSelector: {byLabel: \"\"}, maxConcurrency: \"4\"}]}\n"
			if c.policy != "" {
				spec += "policy: {onIneligible: " + c.policy + "}\n"
			}
			require.Contains(t, s.createRun([]string{"r"}, spec), "4 members")
			_, refusal := s.operate("r", api.VerbRunStart, &api.RunRequest{})
			if c.mallory == "" {
				require.NotNil(t, refusal)
				require.Equal(t, api.CodeIneligible, refusal.Code)
				require.Equal(t, []string{"mallory"}, refusal.Members)
				_, refusal = s.operate("r", api.VerbRunSkip, &api.RunRequest{Targets: []api.SkipTarget{{Type: "Member", Name: "mallory"}}})
				require.Nil(t, refusal)
				_, refusal = s.operate("r", api.VerbRunStart, &api.RunRequest{})
				c.mallory = "Skipped SkippedByUser"
			}
			require.Nil(t, refusal)
			s.until(s.now.Add(time.Hour))
			require.Equal(t, map[string]string{"a": "Completed", "b": "Completed", "c": "Completed", "mallory": c.mallory}, s.ended("r"))
		})
	}
}

// H42: a run of a profile skips a member that states another major version; it used to fail, with all that came behind that member.
func TestAnotherMajorVersionFailsNoRunOfAProfile(t *testing.T) {
	s := newScene(t)
	s.fixture(nil, "")
	s.members(nil, "aa cp=0.29.2\nb,c cp=1.29.2")
	s.profile([]string{"p"}, "channel: Stable\n")
	name := s.expand("auto-p*")
	s.until(s.now.Add(time.Hour))
	require.Equal(t, map[string]string{"aa": "Skipped UnsupportedVersion", "b": "Completed", "c": "Completed"}, s.ended(name))
	require.Equal(t, api.StateCompleted, s.runs[name].status.Status.State)
}

// H42: a group that is empty since an agent states another one, or none, is warned of, and neither a run of people nor one of a profile
// is refused for it. Where people alone write groups it is GroupNotFound as ever.
func TestAnAgentThatLeavesItsGroupRefusesNoRun(t *testing.T) {
	const groups = "strategy: {stages: [{name: s, groups: [{name: g1}, {name: g2}]}]}\nupgrade: {type: Full, kubernetesVersion: 1.29.9}\n"
	for name, c := range map[string]struct {
		allowed string
		refused string
	}{
		"the agent may state groups":   {"flotilla.io/update-group", ""},
		"the agent may state anything": {"*", ""},
		"the agent may state others":   {"tier", api.CodeGroupNotFound},
		"people alone write labels":    {"", api.CodeGroupNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.fixture(nil, "")
			s.members(nil, "oslo group=g1\nmallory")
			m, _ := s.fleet.Member("mallory")
			facts := m.MemberFacts
			facts.Agent.Allowed = []string{c.allowed}
			require.NoError(t, s.fleet.Set(facts))
			said := s.createRun([]string{"r"}, groups)
			if c.refused != "" {
				require.Contains(t, said, "refused 400 "+c.refused)
				return
			}
			require.Contains(t, said, "1 members")
			require.Contains(t, said, "warning: no member bears the group of s/g2; agents state groups here")
			_, refusal := s.operate("r", api.VerbRunStart, &api.RunRequest{})
			require.Nil(t, refusal)
			s.until(s.now.Add(time.Hour))
			require.Equal(t, map[string]string{"oslo": "Completed"}, s.ended("r"))
			require.Contains(t, s.runs["r"].status.Warnings[1], "no member bears the group of s/g2", "also after the first start")

			s.runs = map[string]*worldRun{}
			s.strategy([]string{"two"}, "stages: [{name: s, groups: [{name: g1}, {name: g2}]}]\n")
			s.publish(nil, "kubernetes 1.29.10 GA weu")
			s.profile([]string{"p"}, "channel: Stable\nstrategyName: two\n")
			require.Len(t, s.runs, 1)

			s.remove([]string{"oslo"}, "")
			require.Contains(t, s.createRun([]string{"nobody"}, groups), "refused 400 "+api.CodeNoMembers)
		})
	}
}
