package upgrade_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/stage"
)

const fourInTwo = `
strategy:
  stages:
  - {name: s1, maxAllowedFailures: "%d", beforeGates: [{type: Approval}], groups: [{name: g1, maxConcurrency: "2"}], afterStageWaitInSeconds: 60}
  - {name: s2, groups: [{name: g2}]}
upgrade: {type: Full, kubernetesVersion: %s}
`

// inState brings a run of a1, a2, a3 and b1 into a state.
var inState = map[string]func(t *testing.T) *scene{
	"NotStarted":         func(t *testing.T) *scene { return newRun(t, 0, "1.29.9") },
	"Pending at a gate":  func(t *testing.T) *scene { return done(newRun(t, 0, "1.29.9"), "start") },
	"Pending at nothing": func(t *testing.T) *scene { return done(newRun(t, 0, "1.29.9", "reachable=no"), "start", "approve") },
	"Running":            func(t *testing.T) *scene { return done(newRun(t, 0, "1.29.9"), "start", "approve") },
	"Stopping":           func(t *testing.T) *scene { return done(newRun(t, 0, "1.29.9"), "start", "approve", "stop") },
	"Stopped":            func(t *testing.T) *scene { return done(newRun(t, 0, "1.29.9"), "start", "approve", "stop", "hour") },
	"Failed": func(t *testing.T) *scene {
		return done(newRun(t, 0, "1.29.9", "fails=always"), "start", "approve", "hour")
	},
	"Completed": func(t *testing.T) *scene { return done(newRun(t, 0, "1.29.9"), "start", "approve", "hour", "hour") },
	"Completed, failed": func(t *testing.T) *scene {
		return done(newRun(t, 3, "1.29.9", "fails=once"), "start", "approve", "hour", "hour")
	},
	"Completed, skips": func(t *testing.T) *scene {
		return done(newRun(t, 0, "1.29.9"), "skip", "start", "approve", "hour", "hour")
	},
	"Skipped": func(t *testing.T) *scene {
		return done(newRun(t, 0, "1.29.9", "cp=1.29.9 pools=np1:U-202401.17.1@1.29.9"), "start", "approve", "hour")
	},
}

func newRun(t *testing.T, allowed int, version string, facts ...string) *scene {
	t.Helper()
	s := newScene(t)
	s.fixture(nil, "")
	s.members(nil, "a1,a2,a3 group=g1 "+strings.Join(facts, " ")+"\nb1 group=g2 "+strings.Join(slices.DeleteFunc(facts, func(f string) bool { return strings.HasPrefix(f, "fails") }), " "))
	require.Contains(t, s.createRun([]string{"r"}, fmt.Sprintf(fourInTwo, allowed, version)), "NotStarted")
	return s
}

// done lets things happen one after the other; what is not possible in a world is left out.
func done(s *scene, steps ...string) *scene {
	for _, step := range steps {
		switch step {
		case "hour":
			s.until(s.now.Add(time.Hour))
		case "approve":
			_, _ = s.operate("r", api.VerbRunApprove, &api.RunRequest{Gate: "s1/before/Approval"})
		case "skip":
			_, _ = s.operate("r", api.VerbRunSkip, &api.RunRequest{Targets: []api.SkipTarget{{Type: api.TargetMember, Name: "a2"}}})
		default:
			_, _ = s.operate("r", "run-"+step, &api.RunRequest{})
		}
	}
	return s
}

// asked are the operations, each in the ways that are refused for different reasons.
var asked = []struct {
	verb string
	ask  api.RunRequest
}{
	{api.VerbRunStart, api.RunRequest{}},
	{api.VerbRunStart, api.RunRequest{IncludeSkipped: true}},
	{api.VerbRunStop, api.RunRequest{}},
	{api.VerbRunApprove, api.RunRequest{Gate: "s1/before/Approval"}},
	{api.VerbRunApprove, api.RunRequest{Gate: "nowhere"}},
	{api.VerbRunSkip, api.RunRequest{Targets: []api.SkipTarget{{Type: api.TargetMember, Name: "a1"}}}},
	{api.VerbRunSkip, api.RunRequest{Targets: []api.SkipTarget{{Type: api.TargetStage, Name: "s1"}}}},
	{api.VerbRunSkip, api.RunRequest{Targets: []api.SkipTarget{{Type: api.TargetGroup, Name: "nowhere"}}}},
	{api.VerbRunSkip, api.RunRequest{}},
	{api.VerbRunRerun, api.RunRequest{}},
	{api.VerbRunRerun, api.RunRequest{Members: []string{api.RerunSkippedByUser}}},
	{api.VerbRunRerun, api.RunRequest{Members: []string{"a9"}}},
}

// Whatever is asked of a run in whatever state, the command that the answer names is accepted there, and
// a run that is watched goes on.
func TestEveryHintCanBeFollowed(t *testing.T) {
	for state, make := range inState {
		for _, a := range asked {
			s := make(t)
			status := &s.runs["r"].status
			require.Equal(t, strings.Trim(strings.Fields(state)[0], ","), string(status.Status.State), state)
			name := fmt.Sprintf("%s %+v in state %s", a.verb, a.ask, state)
			_, refusal := s.operate("r", a.verb, &a.ask)
			if refusal != nil {
				follow(t, s, name, refusal.Next)
				continue
			}
			follow(t, s, name, stage.Next(&s.runs["r"].status))
		}
	}
}

// follow does what a hint says.
func follow(t *testing.T, s *scene, name, hint string) {
	t.Helper()
	status := &s.runs["r"].status
	before := status.Status.State
	words := strings.Fields(hint)
	require.Greater(t, len(words), 2, "%s: %q", name, hint)
	switch head := strings.Join(words[:3], " "); head {
	case "flotilla get members":
		require.True(t, before.Done(), "%s: %q", name, hint)
		return
	case "flotilla run status":
		if slices.Contains(words, "--watch") {
			require.True(t, before.Active() || before == api.StateStopping, "%s: %q would watch what does not move", name, hint)
		}
		return
	case "flotilla run start", "flotilla run stop", "flotilla run approve", "flotilla run rerun":
		ask := api.RunRequest{}
		for i, word := range words[:len(words)-1] {
			switch word {
			case "--gate":
				ask.Gate = words[i+1]
			case "--members":
				ask.Members = strings.Split(words[i+1], ",")
			}
		}
		require.Equal(t, "r", words[3])
		noop, refusal := s.operate("r", "run-"+words[2], &ask)
		require.Nil(t, refusal, "%s: %q is refused: %v", name, hint, refusal)
		require.False(t, noop, "%s: %q changes nothing", name, hint)
	default:
		require.Fail(t, "unknown", "%s: %q", name, hint)
	}
}
