package staged_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/rollout"
	"flotilla/core/stage"
	"flotilla/core/staged"
)

// world is a placement of strategy External, its members, and a run: what the run lets out the roller's core releases.
type world struct {
	t       *testing.T
	now     time.Time
	run     api.StagedUpdateRun
	status  api.UpdateRunStatus
	view    staged.View
	members map[string]staged.Member
	results map[string]*api.PlacementResult
	// overrides touch every member.
	overrides []api.OverrideVersion
	events    []stage.Event
	recheck   time.Time
}

// newWorld has members by name with their labels, "oslo tier=canary order=1", and one snapshot.
func newWorld(t *testing.T, members ...string) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), members: map[string]staged.Member{}, results: map[string]*api.PlacementResult{}}
	p := &api.Placement{Spec: api.PlacementSpec{Strategy: api.Strategy{Type: api.StrategyExternal}}}
	p.Name, p.UID, p.Generation, p.Kind = "web", "u1", 1, api.KindClusterResourcePlacement
	w.view = staged.View{
		Placement: p,
		Schedule:  &api.Schedule{Placement: "web", UID: "u1", Generation: 1, Policy: "p1", Fulfilled: true},
		Member:    func(name string) (staged.Member, bool) { m, known := w.members[name]; return m, known },
		Result:    func(member string) *api.PlacementResult { return w.results[member] },
	}
	for _, text := range members {
		words := strings.Fields(text)
		labels := map[string]string{}
		for _, pair := range words[1:] {
			key, value, _ := strings.Cut(pair, "=")
			labels[key] = value
		}
		w.members[words[0]] = staged.Member{Labels: labels}
		w.view.Schedule.Bindings = append(w.view.Schedule.Bindings, api.Binding{Member: words[0]})
	}
	w.snapshot("work1")
	w.run.Name, w.run.UID, w.run.Kind = "web-1", "r1", api.KindClusterStagedUpdateRun
	w.run.Spec = api.StagedUpdateRunSpec{PlacementName: "web", StrategyName: "waves", State: api.RunInitialize}
	return w
}

func (w *world) snapshot(work string) {
	w.view.Snapshots = append(w.view.Snapshots, &api.Snapshot{UID: "u1", Placement: "web", Index: int64(len(w.view.Snapshots) + 1), Work: work})
}

func (w *world) strategy(stages ...api.ContentStage) {
	w.view.Strategy = &api.StagedUpdateStrategy{Spec: api.StagedUpdateStrategySpec{Stages: stages}}
}

// by is a stage of the members of a tier.
func by(name, tier string) api.ContentStage {
	return api.ContentStage{Name: name, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}}
}

func atOnce(s api.ContentStage, most intstr.IntOrString) api.ContentStage {
	s.MaxConcurrency = &most
	return s
}

func (w *world) create() {
	w.t.Helper()
	status, refusal := staged.Create(&w.run, w.view, w.now)
	require.Nil(w.t, refusal)
	w.status = status
}

func (w *world) take(d stage.Decision) {
	w.status, w.recheck = d.Status, d.Recheck
	w.events = append(w.events, d.Events...)
}

func (w *world) wants(state string) {
	w.t.Helper()
	w.run.Spec.State = state
	d, asked := staged.Follow(&w.run, &w.status, w.view, w.now)
	require.True(w.t, asked)
	require.True(w.t, d.Changed, "what was done as asked is noted")
	w.take(d)
	w.release()
}

func (w *world) operate(verb string, ask api.RunRequest) *api.Refusal {
	w.t.Helper()
	d, refusal := staged.Operate(&w.run, &w.status, w.view, w.now, verb, &ask)
	if refusal == nil {
		w.take(d)
		w.release()
	}
	return refusal
}

// release does what the roller does.
func (w *world) release() {
	in := rollout.Input{
		Schedule: w.view.Schedule, Release: w.view.Release, Latest: w.view.Snapshots[len(w.view.Snapshots)-1],
		Results: w.results, Members: map[string]rollout.MemberView{}, Now: w.now,
	}
	if w.view.Placement != nil {
		in.Placement = *w.view.Placement
	}
	in.Checks = rollout.Checks{Record: w.view.Checks}
	if w.status.Content != nil {
		in.Checks.Name = w.status.Content.Check
	}
	for name, m := range w.members {
		in.Members[name] = rollout.MemberView{State: api.MemberReady, Leaving: m.Leaving}
	}
	if w.status.UnderWay() {
		in.Grants, in.Latest = staged.Grants(&w.status), w.view.Snapshots[w.status.Content.Snapshot-1]
	}
	w.render(&in)
	next := rollout.Next(in).Release
	w.view.Release = &next
}

// render does what the renderer does: "work1+2" is work1 with the second generation of the override.
func (w *world) render(in *rollout.Input) {
	if len(w.overrides) == 0 {
		return
	}
	in.Overrides = w.overrides
	in.Rendered = &api.Rendered{UID: "u1", Snapshot: in.Latest.Index, Base: in.Latest.Work, Overrides: w.overrides}
	for name := range w.members {
		one := api.RenderedMember{Member: name, Work: fmt.Sprintf("%s+%d", in.Latest.Work, w.overrides[0].Generation), Overrides: []int{0}}
		in.Rendered.Members = append(in.Rendered.Members, one)
	}
	slices.SortFunc(in.Rendered.Members, func(a, b api.RenderedMember) int { return strings.Compare(a.Member, b.Member) })
}

// works lists what members were given, by member.
func (w *world) works() string {
	var out []string
	for i := range w.view.Release.Entries {
		out = append(out, w.view.Release.Entries[i].Work)
	}
	return strings.Join(out, " ")
}

// after lets time pass and members answer, "oslo" that it is available, "oslo!" that it is not, "oslo-" that it gave the
// placement up; then the run and the roller go on as far as they go.
func (w *world) after(wait time.Duration, answers ...string) {
	w.t.Helper()
	w.now = w.now.Add(wait)
	for _, answer := range answers {
		w.answer(answer)
	}
	for range 10 {
		w.take(staged.Step(&w.run, &w.status, w.view, w.now))
		w.release()
	}
}

func (w *world) answer(text string) {
	name := strings.TrimRight(text, "!-")
	entry := w.entry(name)
	require.NotNil(w.t, entry, "nothing is released to %s", name)
	r := &api.PlacementResult{Member: name, UID: entry.UID, Generation: entry.Generation, Snapshot: entry.Snapshot, Applied: "True", Available: "True"}
	switch {
	case strings.HasSuffix(text, "!"):
		r.Available, r.Failures = "False", []api.ManifestFailure{{Reason: "ManifestNotAvailableYet", Message: "1 of 3 pods are ready"}}
		r.Failures[0].Kind, r.Failures[0].Name = "Deployment", "web"
	case strings.HasSuffix(text, "-"):
		r.Withdrawn = true
	}
	w.results[name] = r
}

func (w *world) entry(member string) *api.ReleaseEntry {
	for i := range w.view.Release.Entries {
		if e := &w.view.Release.Entries[i]; e.Member == member {
			return e
		}
	}
	return nil
}

// holding lists who was given which snapshot, "lima 1, oslo 2".
func (w *world) holding() string {
	var out []string
	for i := range w.view.Release.Entries {
		if e := &w.view.Release.Entries[i]; !e.Withdrawn {
			out = append(out, e.Member+" "+string(rune('0'+e.Snapshot)))
		}
	}
	return strings.Join(out, ", ")
}

func (w *world) held(member string) string {
	i := slices.IndexFunc(w.view.Release.Held, func(h api.Held) bool { return h.Member == member })
	if i < 0 {
		return ""
	}
	return w.view.Release.Held[i].Reason
}

func (w *world) state() api.UpdateState { return w.status.Status.State }
