package staged_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/staged"
)

// voyage is a world in which anything may happen.
type voyage struct {
	*world
	rng   *rand.Rand
	tiers []string
}

func newVoyage(t *testing.T, seed uint64) *voyage {
	t.Helper()
	v := &voyage{rng: rand.New(rand.NewPCG(seed, 7)), tiers: []string{"a", "b", "c"}}
	var members []string
	for i := range 3 + v.rng.IntN(6) {
		members = append(members, fmt.Sprintf("m%d tier=%s order=%d", i, v.tiers[v.rng.IntN(3)], v.rng.IntN(3)))
	}
	v.world = newWorld(t, members...)
	var stages []api.ContentStage
	key := "order"
	for _, tier := range v.tiers {
		s := atOnce(by(tier, tier), []intstr.IntOrString{intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("50%")}[v.rng.IntN(3)])
		if v.rng.IntN(2) == 0 {
			s.SortingLabelKey = &key
		}
		if v.rng.IntN(3) == 0 {
			s.BeforeStageTasks = []api.StageTask{{Type: api.TaskApproval}}
		}
		stages = append(stages, s)
	}
	v.strategy(stages...)
	v.create()
	v.release()
	return v
}

// happen does one thing; whoever restarts reads what was written, so that every step is one after a crash.
func (v *voyage) happen() {
	switch v.rng.IntN(10) {
	case 0:
		_ = v.operate(api.VerbRunStop, api.RunRequest{})
	case 1, 2:
		_ = v.operate(api.VerbRunStart, api.RunRequest{})
	case 3:
		v.approveAll()
	case 4:
		v.after(10 * time.Minute)
	case 5:
		name := v.anyone()
		m := v.members[name]
		m.Leaving = v.rng.IntN(4) == 0
		v.members[name] = m
		v.after(0)
	case 6:
		_ = v.operate(api.VerbRunSkip, api.RunRequest{Targets: []api.SkipTarget{{Type: api.TargetMember, Name: v.anyone()}}})
	default:
		name := v.anyone()
		if v.entry(name) != nil && !v.entry(name).Withdrawn {
			v.after(time.Second, name+[]string{"", "", "!"}[v.rng.IntN(3)])
		}
	}
}

func (v *voyage) anyone() string {
	return v.view.Schedule.Bindings[v.rng.IntN(len(v.view.Schedule.Bindings))].Member
}

func (v *voyage) approveAll() {
	for _, g := range stage.Gates(&v.status) {
		_ = v.operate(api.VerbRunApprove, api.RunRequest{Gate: g.Name})
	}
}

// holds says that no more than may run at once, that later stages wait for earlier ones, and that nobody was given what the run did
// not let them have.
func (v *voyage) holds(at string) {
	v.t.Helper()
	begun := map[string]bool{}
	current := stage.CurrentStage(&v.status)
	for i := range v.status.Stages {
		s, running := &v.status.Stages[i], 0
		stage.EachMember(s, func(m *api.MemberUpdateStatus) {
			begun[m.Name] = begun[m.Name] || m.Attempt > 0
			if m.Status.State == api.StateRunning {
				running++
			}
			require.False(v.t, m.Attempt > 0 && current >= 0 && i > current, "%s: %s of stage %s began before its turn", at, m.Name, s.Name)
		})
		require.LessOrEqual(v.t, running, s.MaxConcurrency, "%s: stage %s", at, s.Name)
	}
	for i := range v.view.Release.Entries {
		require.True(v.t, begun[v.view.Release.Entries[i].Member], "%s: %s was given what no run let it have", at, v.view.Release.Entries[i].Member)
	}
	d := staged.Step(&v.run, &v.status, v.view, v.now)
	require.False(v.t, d.Changed, "%s: deciding twice changes nothing", at)
}

func TestStagesAndTheirLimitsHoldWhateverHappens(t *testing.T) {
	for seed := range uint64(150) {
		v := newVoyage(t, seed)
		for step := range 60 {
			v.happen()
			v.after(0)
			v.holds(fmt.Sprintf("seed %d, step %d", seed, step))
		}
		for name, m := range v.members {
			m.Leaving = false
			v.members[name] = m
		}
		for range 40 {
			_ = v.operate(api.VerbRunStart, api.RunRequest{})
			v.approveAll()
			for i := range v.view.Release.Entries {
				if e := &v.view.Release.Entries[i]; !e.Withdrawn {
					v.answer(e.Member)
				}
			}
			v.after(10 * time.Minute)
		}
		require.True(t, v.state().Done(), "seed %d ends: %s", seed, stage.Text(&v.status))
	}
}

// Members of a stage come by their label, then by name.
func TestMembersComeByTheirLabel(t *testing.T) {
	w := newWorld(t, "d order=-5", "a order=10", "b order=9", "c order=9")
	key := "order"
	all := api.ContentStage{Name: "all", LabelSelector: by("x", "y").LabelSelector, SortingLabelKey: &key}
	all.LabelSelector.MatchLabels = nil
	w.strategy(all)
	w.create()
	w.wants(api.RunRun)
	var came []string
	for range 4 {
		for i := range w.view.Release.Entries {
			if name := w.view.Release.Entries[i].Member; !slices.Contains(came, name) {
				came = append(came, name)
				w.after(time.Second, name)
				break
			}
		}
	}
	require.Equal(t, []string{"d", "b", "c", "a"}, came)
	require.Equal(t, api.StateCompleted, w.state())
}
