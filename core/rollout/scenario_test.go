package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/tests/scenario"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is the fleet that the commands of a scenario act on.
type world struct {
	in Input
}

func newWorld() *world {
	return &world{in: Input{Results: map[string]*api.PlacementResult{}, Members: map[string]MemberView{}, Now: start}}
}

func TestScenarios(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", func() map[string]scenario.Command { return newWorld().commands() })
}

func (w *world) commands() map[string]scenario.Command {
	return map[string]scenario.Command{
		"placement": w.placement, "bind": w.bind, "snapshot": w.snapshot, "report": w.report, "member": w.member,
		"tick": w.tick, "delete": w.delete, "next": w.next, "settle": w.settle, "show": w.show, "apply-strategy": w.applyStrategy, "pause": w.pause, "resume": w.resume, "evict": w.evict, "drain": w.drain,
		"check": w.check, "verdict": w.verdict, "undo": w.undo,
	}
}

// placement NAME TYPE [uid=U] [n=N] [maxUnavailable=V] [maxSurge=V] [period=SECONDS]
// makes the placement anew, or changes its strategy.
func (w *world) placement(t *testing.T, args []string) string {
	p := &w.in.Placement
	p.Name, p.UID = args[0], "u1"
	p.Spec.Policy = &api.Policy{PlacementType: api.PlacementType(args[1])}
	ru := &api.RollingUpdate{}
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		v := intstr.Parse(value)
		switch key {
		case "uid":
			p.UID, p.DeletionTimestamp = types.UID(value), nil
		case "n":
			p.Spec.Policy.NumberOfClusters = &v.IntVal
		case "maxUnavailable":
			ru.MaxUnavailable = &v
		case "maxSurge":
			ru.MaxSurge = &v
		case "period":
			ru.UnavailablePeriodSeconds = &v.IntVal
		default:
			require.Fail(t, "unknown setting "+key)
		}
	}
	p.Spec.Strategy.RollingUpdate = ru
	return ""
}

// bind [MEMBER…] makes a schedule of exactly these; "berlin?" is kept although it is not eligible.
func (w *world) bind(_ *testing.T, args []string) string {
	s := &api.Schedule{UID: string(w.in.Placement.UID), Want: w.in.Placement.Spec.Policy.NumberOfClusters}
	for _, name := range args {
		member, waiting := strings.CutSuffix(name, "?")
		b := api.Binding{Member: member, Reason: "picked by scheduling policy"}
		if waiting {
			b.Waiting, b.Reason = true, member+" is not eligible for resource placement yet"
		}
		s.Bindings = append(s.Bindings, b)
	}
	w.in.Schedule = s
	return ""
}

// evict MEMBER… takes members out of the schedule, as an eviction does.
func (w *world) evict(_ *testing.T, args []string) string {
	w.in.Schedule.Evicted = append(w.in.Schedule.Evicted, args...)
	return w.unbind(args)
}

// drain MEMBER… takes members out of the schedule, as a drain does.
func (w *world) drain(_ *testing.T, args []string) string {
	w.in.Schedule.Drained = append(w.in.Schedule.Drained, args...)
	return w.unbind(args)
}

func (w *world) unbind(members []string) string {
	w.in.Schedule.Bindings = slices.DeleteFunc(w.in.Schedule.Bindings, func(b api.Binding) bool { return slices.Contains(members, b.Member) })
	return ""
}

// snapshot INDEX [work=W] [error TEXT…].
func (w *world) snapshot(t *testing.T, args []string) string {
	index, err := strconv.ParseInt(args[0], 10, 64)
	require.NoError(t, err)
	s := &api.Snapshot{UID: string(w.in.Placement.UID), Index: index, Work: "work-" + args[0]}
	switch {
	case len(args) > 1 && args[1] == "error":
		s.Work, s.Error = "", strings.Join(args[2:], " ")
	case len(args) > 1:
		s.Work = strings.TrimPrefix(args[1], "work=")
	}
	w.in.Latest = s
	return ""
}

// report WHAT MEMBER…: each answers its entry as it stands.
func (w *world) report(t *testing.T, args []string) string {
	for _, member := range args[1:] {
		entry := w.entry(member)
		require.NotNil(t, entry, "%s has no entry", member)
		w.in.Results[member] = resultOf(*entry, args[0], w.in.Now)
	}
	return ""
}

func (w *world) entry(member string) *api.ReleaseEntry {
	if w.in.Release == nil {
		return nil
	}
	for i := range w.in.Release.Entries {
		if w.in.Release.Entries[i].Member == member {
			return &w.in.Release.Entries[i]
		}
	}
	return nil
}

func resultOf(e api.ReleaseEntry, what string, now time.Time) *api.PlacementResult {
	r := &api.PlacementResult{
		Member: e.Member, UID: e.UID, Generation: e.Generation, Snapshot: e.Snapshot, Work: e.Work,
		Applied: "True", AppliedReason: "AllWorkHaveBeenApplied", Changed: metav1.NewTime(now),
	}
	switch what {
	case "available":
		r.Available, r.AvailableReason = "True", "AllWorkAreAvailable"
	case "untrackable":
		r.Available, r.AvailableReason = "True", "NotAllWorkAreAvailabilityTrackable"
	case "unavailable":
		r.Available, r.AvailableReason = "False", "NotAllWorkAreAvailable"
	case "applying":
		r.Applied, r.AppliedReason = "False", "ApplyInProgress"
	case "failed":
		r.Applied, r.AppliedReason = "False", "NotAllWorkHaveBeenApplied"
	case "withdrawn":
		r.Applied, r.Withdrawn = "Unknown", true
	default:
		panic("unknown result " + what)
	}
	return r
}

// member NAME STATE|leaving|leaving-delete|gone.
func (w *world) member(_ *testing.T, args []string) string {
	v := w.in.Members[args[0]]
	switch args[1] {
	case "leaving":
		v = MemberView{State: api.MemberLeaving, Leaving: true}
	case "leaving-delete":
		v = MemberView{State: api.MemberLeaving, Leaving: true, WhenLeaving: api.WhenLeavingDelete}
	case "gone":
		v = MemberView{Gone: true}
	default:
		v.State = api.MemberState(args[1])
	}
	w.in.Members[args[0]] = v
	return ""
}

// tick DURATION.
func (w *world) tick(t *testing.T, args []string) string {
	d, err := time.ParseDuration(args[0])
	require.NoError(t, err)
	w.in.Now = w.in.Now.Add(d)
	return ""
}

// delete [abandon|done]: asks for the deletion of the placement; done takes its spec away.
func (w *world) delete(_ *testing.T, args []string) string {
	now := metav1.NewTime(w.in.Now)
	w.in.Placement.DeletionTimestamp = &now
	switch {
	case len(args) > 0 && args[0] == "abandon":
		w.in.Placement.Spec.Strategy.DeleteStrategy = &api.DeleteStrategy{PropagationPolicy: api.PropagationAbandon}
	case len(args) > 0 && args[0] == "done":
		w.in.Placement, w.in.Schedule, w.in.Latest = api.Placement{}, nil, nil
	}
	return ""
}

// pause BY [REASON…].
func (w *world) pause(t *testing.T, args []string) string {
	text, err := json.Marshal(api.Pause{By: args[0], Since: metav1.NewTime(w.in.Now), Reason: strings.Join(args[1:], " ")})
	require.NoError(t, err)
	w.in.Placement.Annotations = map[string]string{api.AnnotationPaused: string(text)}
	return ""
}

func (w *world) resume(*testing.T, []string) string {
	w.in.Placement.Annotations = nil
	return ""
}

// apply-strategy TYPE.
func (w *world) applyStrategy(_ *testing.T, args []string) string {
	w.in.Placement.Spec.Strategy.ApplyStrategy = &api.ApplyStrategy{Type: args[0]}
	return ""
}

// next decides once, prints the plan and makes it the release; deciding again must change nothing.
func (w *world) next(t *testing.T, _ []string) string {
	p := Next(w.in)
	if p.Changed {
		w.in.Release = &p.Release
	}
	again := Next(w.in)
	require.False(t, again.Changed, "deciding twice changed something: %s", again)
	return p.String()
}

// settle lets every member become available or withdraw at once, and decides, until nothing moves; it
// prints each plan that moved someone.
func (w *world) settle(t *testing.T, _ []string) string {
	var out strings.Builder
	for range 1000 {
		w.answerAll()
		p := Next(w.in)
		if p.Changed {
			w.in.Release = &p.Release
		}
		if len(p.Advance)+len(p.Withdraw)+len(p.Confirmed)+len(p.Dropped) == 0 {
			require.Empty(t, p.Hold)
			return out.String()
		}
		p.Hold = nil
		out.WriteString(p.String())
	}
	require.Fail(t, "never settles")
	return ""
}

func (w *world) answerAll() {
	if w.in.Release == nil {
		return
	}
	for _, e := range w.in.Release.Entries {
		what := "available"
		if e.Withdrawn {
			what = "withdrawn"
		}
		w.in.Results[e.Member] = resultOf(e, what, w.in.Now)
	}
}

// show prints the release.
func (w *world) show(_ *testing.T, _ []string) string {
	if w.in.Release == nil || len(w.in.Release.Entries) == 0 {
		return "no entries\n"
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range w.in.Release.Entries {
		state := ""
		switch {
		case e.Abandon:
			state = "withdrawn, objects stay"
		case e.Withdrawn:
			state = "withdrawn"
		}
		if e.RolledBack != 0 {
			state = strings.TrimPrefix(fmt.Sprintf("%s, rolled back from %d", state, e.RolledBack), ", ")
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\tsnapshot %d\tgeneration %d\t%s\n", e.Member, e.UID, e.Snapshot, e.Generation, state)
	}
	_ = table.Flush()
	return b.String()
}
