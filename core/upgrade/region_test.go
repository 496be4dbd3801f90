package upgrade_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A67: what all members are to get is chosen by the regions that people wrote; where these are not more than half, by all but a fifth. Who cannot have
// it in a region that only its agent states is skipped with a Warning that says what to type, and the others go on.
func TestARegionThatOnlyAnAgentStatesChoosesForNobodyElse(t *testing.T) {
	const alias = "strategy: {stages: [{name: s, groups: [{name: g, maxConcurrency: \"9\"}]}]}\nupgrade: {type: Full, kubernetesVersion: \"1.29\"}\n"
	for name, c := range map[string]struct {
		members, run string
		chosen       string
		mallory      string
	}{
		"a patch, of written regions":              {"a,b group=g region=weu\nmallory group=g stated=aue", alias, "1.29.9", "Skipped RegionNotWritten"},
		"a patch, more agents than people":         {"a,b group=g region=weu\nc,d,e,f,mallory group=g stated=aue", alias, "1.29.4", "Completed"},
		"a patch, one of five":                     {"a,b,c,d group=g stated=weu\nmallory group=g stated=aue", alias, "1.29.9", "Skipped RegionNotWritten"},
		"a patch, one of three":                    {"a,b group=g stated=weu\nmallory group=g stated=aue", alias, "1.29.4", "Completed"},
		"a patch, where it is written":             {"a,b group=g region=weu\nmallory group=g region=aue", alias, "1.29.4", "Completed"},
		"a patch, written and stated otherwise":    {"a,b group=g region=weu\nmallory group=g stated=aue label=region:weu", alias, "1.29.9", "Skipped RegionNotWritten"},
		"a patch, by a label that the agent wrote": {"a,b group=g region=weu\nmallory group=g region=aue agent=topology.kubernetes.io/region", alias, "1.29.9", "Skipped RegionNotWritten"},
		"images, of written regions":               {"a,b group=g region=weu\nmallory group=g stated=aue", consistentImages, "202401.17.1", "Skipped RegionNotWritten"},
		"images, one of five":                      {"a,b,c,d group=g stated=weu\nmallory group=g stated=aue", consistentImages, "202401.17.1", "Skipped RegionNotWritten"},
		"images, one of three":                     {"a,b group=g stated=weu\nmallory group=g stated=aue", consistentImages, "202401.03.0", "Completed"},
		"images, where it is written":              {"a,b group=g region=weu\nmallory group=g region=aue", consistentImages, "202401.03.0", "Completed"},
		"images, of a family that it alone uses":   {"a,b group=g region=weu\nmallory group=g stated=eus pools=np1:W-20348.2582.240000@1.29.2", consistentImages, "202401.17.1", "Completed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.fixture(nil, "")
			s.members(nil, c.members)
			require.Contains(t, s.createRun([]string{"r"}, c.run), "members")
			_, refusal := s.operate("r", api.VerbRunStart, &api.RunRequest{})
			require.Nil(t, refusal)
			s.until(s.now.Add(time.Hour))
			status := s.runs["r"].status
			chosen := status.ResolvedKubernetesVersion
			if images := status.NodeImageSelection; images != nil {
				chosen = images.SelectedNodeImageVersions[0].Version
			}
			require.Equal(t, c.chosen, chosen)
			require.Equal(t, api.StateCompleted, status.Status.State, "nobody is held back")
			ended := s.ended("r")
			require.Equal(t, c.mallory, ended["mallory"])
			require.Equal(t, "Completed", ended["a"])
			if !strings.HasPrefix(c.mallory, "Skipped") {
				return
			}
			var told []string
			for _, e := range s.events {
				if a := e.Audit("runner"); a.Type == "Warning" && a.Member == "mallory" {
					require.Equal(t, api.ReasonRegionNotWritten, a.Reason)
					told = append(told, a.Message)
				}
			}
			require.Len(t, told, 1)
			require.Contains(t, told[0], "correct that at the agent, then: flotilla run rerun r --members mallory; if it is there: flotilla label member mallory topology.kubernetes.io/region=aue --overwrite")
		})
	}
}

// A67: a profile that waits until a version is everywhere waits for the regions that people wrote, and for those of all others but a
// fifth where these are not more than half.
func TestARegionThatOnlyAnAgentStatesKeepsNoProfileWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		members string
		runs    int
	}{
		"all have it":                   {"a,b region=weu", 1},
		"one is behind, and written":    {"a,b region=weu\nmallory region=aue", 0},
		"one is behind, by its agent":   {"a,b region=weu\nmallory stated=aue", 1},
		"one of five, nobody wrote":     {"a,b,c,d stated=weu\nmallory stated=aue", 1},
		"one of three, nobody wrote":    {"a,b stated=weu\nmallory stated=aue", 0},
		"most are behind, nobody wrote": {"a stated=weu\nb,mallory stated=aue", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.fixture(nil, "")
			s.members(nil, c.members)
			s.profile([]string{"p"}, "channel: Stable\ntriggerWhen: AllMemberRegions\n")
			s.settle()
			require.Len(t, s.runs, c.runs)
		})
	}
}

// A67: a run that a profile made names the version, and is no more held back than one for which the newest patch was chosen.
func TestARegionThatOnlyAnAgentStatesHoldsNoRunOfAProfile(t *testing.T) {
	for _, channel := range []string{"Stable", "NodeImage"} {
		t.Run(channel, func(t *testing.T) {
			s := newScene(t)
			s.fixture(nil, "")
			s.members(nil, "a,b region=weu\nmallory stated=aue")
			s.profile([]string{"p"}, "channel: "+channel+"\ntriggerWhen: AllMemberRegions\n")
			s.settle()
			require.Len(t, s.runs, 1)
			s.until(s.now.Add(time.Hour))
			for name, run := range s.runs {
				require.Equal(t, api.StateCompleted, run.status.Status.State)
				require.Equal(t, "Skipped RegionNotWritten", s.ended(name)["mallory"])
			}
		})
	}
}
