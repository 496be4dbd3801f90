package staged_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/staged"
)

// stated has agents state labels of a member, "tier=prod", or be allowed to and not state them, "tier".
func (w *world) stated(member string, labels ...string) {
	m := w.members[member]
	for _, pair := range labels {
		key, value, states := strings.Cut(pair, "=")
		m.Agent.Allowed = append(m.Agent.Allowed, key)
		if states {
			m.Labels[key], m.Agent.Stated = value, append(m.Agent.Stated, key)
		}
	}
	w.members[member] = m
}

// D31: a label that the agent of a member states leaves that member out of a run of content, and nobody else. What people wrote
// refuses the run, as does what would leave nobody.
func TestALabelThatAnAgentStatesLeavesItsOwnMemberOut(t *testing.T) {
	has := func(name, key string) api.ContentStage {
		return api.ContentStage{Name: name, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpExists}}}}
	}
	lacks := func(name, tier string) api.ContentStage {
		return api.ContentStage{Name: name, LabelSelector: &metav1.LabelSelector{
			MatchLabels:      map[string]string{"env": "live"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{tier}}},
		}}
	}
	order := "order"
	sorted := by("prod", "prod")
	sorted.SortingLabelKey = &order
	stages := []api.ContentStage{by("canary", "canary"), by("prod", "prod"), has("edge", "edge")}
	for name, c := range map[string]struct {
		members []string // as of newWorld, that of the agent behind a colon
		stages  []api.ContentStage
		left    string // what is said of mallory
		refusal string
	}{
		"two stages, by its agent": {
			[]string{"oslo tier=canary", "mallory tier=prod : edge=yes"},
			stages,
			`is in stages prod and edge by label edge="yes", which its agent alone states: correct that at the agent, or write it: flotilla label member mallory edge=VALUE`, "",
		},
		"two stages, by a value that neither leaves out": {
			[]string{"oslo tier=canary", "mallory env=live : tier=other"},
			[]api.ContentStage{by("canary", "canary"), lacks("front", "back"), lacks("back", "front")},
			`is in stages front and back by label tier="other", which its agent alone states`, "",
		},
		"two stages, by people": {
			[]string{"oslo tier=canary", "mallory tier=prod edge=yes"}, stages, "", "a member can be in one stage only: mallory (prod and edge)",
		},
		"two stages, by people, and what its agent states besides": {
			[]string{"oslo tier=canary", "mallory tier=prod edge=yes : zone=north"}, stages, "", "a member can be in one stage only: mallory (prod and edge)",
		},
		"two stages, everybody by their agents": {
			[]string{"oslo tier=canary : edge=yes", "mallory tier=prod : edge=yes"},
			stages, "",
			"a member can be in one stage only: mallory (prod and edge), oslo (canary and edge)",
		},
		"no stage, by its agent": {
			[]string{"oslo tier=canary", "mallory : tier=none"},
			stages,
			`is in no stage by label tier="none", which its agent alone states`, "",
		},
		"no stage, as its agent is silent": {
			[]string{"oslo tier=canary", "mallory : tier"},
			stages,
			`is in no stage by label tier, which its agent may state and does not`, "",
		},
		"no stage, by people": {
			[]string{"oslo tier=canary", "mallory tier=none"}, stages, "", "every member that is picked has to be in a stage, and no stage selects: mallory",
		},
		"no stage, everybody by their agents": {
			[]string{"mallory : tier=none"}, stages, "", "every member that is picked has to be in a stage, and no stage selects: mallory",
		},
		"an order that is none, by its agent": {
			[]string{"oslo tier=prod order=1", "mallory tier=prod : order=first"},
			[]api.ContentStage{sorted},
			`is in stage prod, which is sorted by integers, by label order="first", which its agent alone states`, "",
		},
		"an order that is none, by people": {
			[]string{"oslo tier=prod order=1", "mallory tier=prod order=first"},
			[]api.ContentStage{sorted},
			"",
			`stage prod is sorted by label order, which has to be an integer on: mallory ("first")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var written []string
			for _, text := range c.members {
				people, _, _ := strings.Cut(text, " :")
				written = append(written, people)
			}
			w := newWorld(t, written...)
			for _, text := range c.members {
				people, agent, _ := strings.Cut(text, " :")
				w.stated(strings.Fields(people)[0], strings.Fields(agent)...)
			}
			w.strategy(c.stages...)
			status, refusal := staged.Create(&w.run, w.view, w.now)
			if c.refusal != "" {
				require.NotNil(t, refusal)
				require.Contains(t, refusal.Message, c.refusal)
				return
			}
			require.Nil(t, refusal)
			require.Equal(t, 1, status.Members, "the others go on")
			require.Len(t, status.LeftOut, 1)
			require.Equal(t, "mallory", status.LeftOut[0].Member)
			require.Contains(t, status.LeftOut[0].Message, c.left)
			require.Contains(t, strings.Join(status.Warnings, "\n"), "LeftOut: member mallory "+c.left)
		})
	}
}

// D31: who is left out is looked at again at the first start of a run: the member is in it once its label is corrected, and one
// whose agent states a label meanwhile is not, which a Warning says.
func TestWhoIsLeftOutIsLookedAtAgainAtTheFirstStart(t *testing.T) {
	w := newWorld(t, "berlin tier=prod", "mallory tier=prod", "oslo tier=canary")
	w.strategy(by("canary", "canary"), by("prod", "prod"), by("edge", "edge"))
	w.stated("mallory", "tier=nowhere")
	w.create()
	require.Equal(t, 2, w.status.Members)
	mallory, oslo := w.members["mallory"], w.members["oslo"]
	mallory.Labels, mallory.Agent = map[string]string{"tier": "prod"}, api.AgentLabels{}
	w.members["mallory"] = mallory
	oslo.Labels, oslo.Agent = map[string]string{"tier": "nowhere"}, api.AgentLabels{Stated: []string{"tier"}}
	w.members["oslo"] = oslo
	w.wants(api.RunRun)
	for _, want := range []string{"berlin", "mallory"} {
		w.after(time.Minute, want)
	}
	require.Equal(t, "berlin 1, mallory 1", w.holding())
	require.Equal(t, api.StateCompleted, w.state())
	require.Len(t, w.status.LeftOut, 1)
	require.NotContains(t, strings.Join(w.status.Warnings, "\n"), "LeftOut: member mallory")
	requireLeftOut(t, w.events, "oslo")
}

// D31: of many that are left out all are named or counted in the warnings, also once the run began.
func TestManyThatAreLeftOutAreAllCounted(t *testing.T) {
	written := []string{"oslo tier=prod"}
	for i := range 60 {
		written = append(written, fmt.Sprintf("m%02d", i))
	}
	w := newWorld(t, written...)
	w.strategy(by("prod", "prod"))
	for i := range 60 {
		w.stated(fmt.Sprintf("m%02d", i), "tier=none")
	}
	w.create()
	created := strings.Join(w.status.Warnings, "\n")
	require.Equal(t, 10, strings.Count(created, "LeftOut: member "))
	require.Contains(t, created, "LeftOut: the same of m10, m11, ")
	require.Contains(t, created, "and 30 more")
	w.wants(api.RunRun)
	w.after(time.Minute, "oslo")
	require.Equal(t, created, strings.Join(w.status.Warnings, "\n"))
}

// requireLeftOut finds one Warning with the reason LeftOut, about a member.
func requireLeftOut(t *testing.T, events []stage.Event, member string) {
	t.Helper()
	var told []api.Audit
	for _, e := range events {
		if a := e.Audit("runner"); a.Reason == api.ReasonLeftOut {
			told = append(told, a)
		}
	}
	require.Len(t, told, 1)
	require.Equal(t, "Warning", told[0].Type)
	require.Equal(t, member, told[0].Member)
	require.Contains(t, told[0].Message, "flotilla label member "+member)
}
