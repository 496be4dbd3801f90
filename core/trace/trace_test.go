package trace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/trace"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

// world is a placement that three members have: snapshot 1 was cut and released at noon. Each case changes some of it.
type world struct {
	trace.Input
	known map[string]*trace.Known
}

func newWorld() *world {
	w := &world{known: map[string]*trace.Known{}}
	w.Now, w.KeptFrom = noon.Add(time.Minute), noon.Add(-time.Hour)
	w.Placement = &api.Placement{}
	w.Placement.Name, w.Placement.UID, w.Placement.Generation = "web", "u1", 1
	w.Placement.CreationTimestamp = metav1.NewTime(noon)
	w.Snapshot = &api.Snapshot{Placement: "web", UID: "u1", Index: 1, By: "anna", Created: metav1.NewTime(noon)}
	w.Schedule = &api.Schedule{Placement: "web", UID: "u1", Generation: 1}
	w.Release = &api.Release{Placement: "web", Step: 1}
	w.Stored = trace.Stored{Spec: at(10), Snapshot: at(10), Release: at(30)}
	var names []string
	for _, name := range []string{"berlin", "lima", "oslo"} {
		names = append(names, name)
		w.Schedule.Bindings = append(w.Schedule.Bindings, api.Binding{Member: name})
		w.Release.Entries = append(w.Release.Entries, api.ReleaseEntry{Member: name, UID: "u1", Snapshot: 1, Generation: 1, Since: metav1.NewTime(noon)})
		w.known[name] = &trace.Known{
			State: api.MemberReady, Sent: at(900), Beat: at(900), Stored: at(400),
			Commands: []trace.Command{{Order: api.Order{Generation: 7}, Stored: at(40)}},
			Result: &api.PlacementResult{
				UID: "u1", Generation: 1, Order: api.Order{Generation: 7}, Applied: "True", Available: "True", Changed: metav1.NewTime(noon),
				Times: &api.ResultTimes{Received: at(50).UnixMilli(), Command: 7, Applied: new(int64(100)), Available: new(int64(300))},
			},
		}
	}
	w.Past = []api.Told{
		{Audit: api.Audit{Reason: "Created", By: "anna", Request: "r1", Generation: 1}, Stored: at(12)},
		{Audit: api.Audit{Reason: "SnapshotCut", By: "door", Request: "r1", Snapshot: 1}, Stored: at(13)},
		{Audit: api.Audit{Reason: "MembersChanged", By: "scheduler", Generation: 1, Picks: &api.Picks{
			Count: 3, Gained: []api.PickChange{{Members: names, Total: 3}},
		}}, Stored: at(20)},
		{Audit: api.Audit{Reason: "PlacementReleased", By: "roller", Snapshot: 1, Step: 1}, Stored: at(35)},
	}
	w.Member = func(name string) trace.Known { return *w.known[name] }
	return w
}

// berlin is the way to that member, a hop a line: its state, when it was in milliseconds after noon, and what it took.
func (w *world) berlin(t *testing.T) string {
	t.Helper()
	for _, m := range trace.Of(w.Input).Members {
		if m.Member == "berlin" {
			return text(&m)
		}
	}
	return ""
}

func text(m *api.TracedMember) string {
	var lines []string
	for _, h := range m.Hops {
		line := h.Hop
		switch h.State {
		case api.HopDone:
			line += fmt.Sprintf(" %d +%d", h.At.Sub(noon).Milliseconds(), h.TookMs)
		case api.HopBefore:
			line += fmt.Sprintf(" before %d", h.At.Sub(noon).Milliseconds())
		default:
			line += " " + strings.ToLower(h.State)
		}
		for word, is := range map[string]bool{" latest": h.Latest, " second": h.Second} {
			if is {
				line += word
			}
		}
		if h.Note != "" {
			line += ": " + h.Note
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

const whole = `apply 10 +0 latest: snapshot 1, by anna
snapshot 10 +0: snapshot 1
schedule 20 +10 latest: picked
release 30 +10 latest: snapshot 1
command 40 +10: order 0.0.7
received 50 +10
applied 150 +100
available 350 +200
reported 400 +50`

// unanswered are the hops of what nobody answered yet.
var unanswered = []string{"command 40 +10 latest: order 0.0.7", "received waits: its agent has not answered", "applied pending", "reported pending"}

// pending are the hops of what is not released yet.
var pending = []string{"command pending", "received pending", "applied pending", "available pending", "reported pending"}

// Each case is a world that differs in one thing from one in which all went well, and the lines of its trace that differ.
func TestTraces(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		want   []string // lines that take the place of those of their hops
		gone   []string // hops that are not there
		clock  *api.AgentClock
	}{
		"all went well": {change: func(*world) {}, clock: &api.AgentClock{By: "heartbeat"}},
		"a clock that is an hour ahead": {
			change: func(w *world) {
				k := w.known["berlin"]
				k.Sent = k.Sent.Add(time.Hour)
				k.Result.Times.Received += 3600_000
			},
			clock: &api.AgentClock{AheadMs: 3600_000, By: "heartbeat"},
		},
		"a clock that was an hour ahead, and is set since": {
			change: func(w *world) { w.known["berlin"].Result.Times.Received += 3600_000 },
			want:   []string{"received 100 +60", "applied 200 +100", "available 400 +200", "reported 400 +0"},
			clock:  &api.AgentClock{AheadMs: 3600_000 - 50, By: "result"},
		},
		"a clock that was an hour behind, and is set since": {
			change: func(w *world) {
				w.known["berlin"].Result.Times.Received -= 3600_000
				w.known["berlin"].Result.Changed.Time = noon.Add(-time.Hour)
			},
			want:  []string{"received 40 +0", "applied 140 +100", "available 340 +200", "reported 400 +60"},
			clock: &api.AgentClock{AheadMs: -3600_000 + 10, By: "command"},
		},
		"a clock that was set meanwhile": {
			change: func(w *world) { w.known["berlin"].Result.Times.Available = new(int64(3600_000)) },
			want:   []string{"received 40 +0", "applied 140 +100", "available 400 +260", "reported 400 +0"},
			clock:  &api.AgentClock{AheadMs: 10, By: "command", Turned: true},
		},
		"times that cannot be": {
			change: func(w *world) { w.known["berlin"].Result.Times.Applied = new(int64(-1 << 63)) },
			want: []string{
				"command 40 +10 latest: order 0.0.7", "received unknown: its agent states times that cannot be",
				"applied unknown: its agent does not say when", "available unknown: its agent does not say when", "reported 400 +360",
			},
		},
		"an agent that states no times": {
			change: func(w *world) { w.known["berlin"].Result.Times = nil },
			want: []string{
				"command 40 +10 latest: order 0.0.7", "received unknown: its agent does not state times",
				"applied unknown: its agent does not say when", "available unknown: its agent does not say when", "reported 400 +360",
			},
		},
		"an agent that is away": {
			change: func(w *world) {
				k := w.known["berlin"]
				k.Result, k.State, k.LastSeen = nil, api.MemberUnknown, noon.Add(-time.Hour)
			},
			want: []string{
				"command 40 +10 latest: order 0.0.7", "received waits: the member is away, last heard of 2026-11-20T11:00:00Z",
				"applied pending", "available pending", "reported pending",
			},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"no command yet": {
			change: func(w *world) { w.known["berlin"].Result, w.known["berlin"].Commands = nil, nil },
			want: []string{
				"command waits: its index is not stored yet", "received pending", "applied pending", "available pending", "reported pending",
			},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"a command that is not kept": {
			change: func(w *world) { w.known["berlin"].Commands[0].Order.Generation = 99 },
			want:   []string{"command unknown: later changes of the index were stored in its place", "received 50 +20"},
			clock:  &api.AgentClock{By: "heartbeat"},
		},
		"an event that was stored after the command": {
			change: func(w *world) { w.Past[3].Stored, w.Stored.Release = at(45), at(9000) },
			want:   []string{"release 40 +20 latest: snapshot 1", "command 40 +0: order 0.0.7"},
			clock:  &api.AgentClock{By: "heartbeat"},
		},
		"not available yet": {
			change: func(w *world) {
				r := w.known["berlin"].Result
				r.Available, r.AvailableMessage, r.Times.Available = "False", "0 of 2 available", nil
			},
			want:  []string{"available waits: 0 of 2 available", "reported pending"},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"available, and not any more": {
			change: func(w *world) {
				w.known["berlin"].Result.Available, w.known["berlin"].Result.AvailableMessage = "False", "1 of 2 available"
			},
			want:  []string{"available 350 +200: not any more: 1 of 2 available", "reported 400 +50 latest: results were stored again since"},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"a hub that was restarted": {
			change: func(w *world) { w.known["berlin"].Replayed = true },
			want:   []string{"reported 400 +50 latest: results were stored again since"},
			clock:  &api.AgentClock{By: "heartbeat"},
		},
		"an agent that was restarted": {
			change: func(w *world) { w.known["berlin"].Result.Times.Late, w.known["berlin"].Result.Times.Command = true, 0 },
			want:   []string{"command 40 +10 latest: order 0.0.7", "received 50 +10 latest: its agent restarted before it answered"},
			clock:  &api.AgentClock{By: "heartbeat"},
		},
		"events that aged out": {
			change: func(w *world) { w.Past, w.KeptFrom, w.Stored.Release = nil, noon.Add(time.Second), at(9000) },
			want: []string{
				"apply 10 +0: snapshot 1, by anna", "schedule unknown: picked; no event of it is kept; events are from 2026-11-20T12:00:01Z on",
				"release 40 +30 latest: snapshot 1", "command 40 +0: order 0.0.7",
			},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"members that an event has no room to name": {
			change: func(w *world) {
				w.Past[2].Picks = &api.Picks{Count: 900, Gained: []api.PickChange{{Members: []string{"aachen"}, Total: 800}}}
			},
			want:  []string{"schedule unknown: picked; the event of 2026-11-20T12:00:00Z counts members that it does not name", "release 30 +20 latest: snapshot 1"},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"picked before the change": {
			change: func(w *world) {
				w.Past[2].Stored, w.Placement.CreationTimestamp.Time = noon.Add(-time.Minute), noon.Add(-time.Hour)
			},
			want:  []string{"schedule before -60000: picked", "release 30 +20 latest: snapshot 1"},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"picked by a later decision": {
			change: func(w *world) {
				w.Past[2].Picks.Gained[0].Members[0] = "aachen"
				w.Past = append(w.Past, api.Told{Audit: api.Audit{By: "scheduler", Picks: &api.Picks{
					Count: 4, Gained: []api.PickChange{{Reason: "it joined", Members: []string{"berlin"}, Total: 1}},
				}}, Stored: at(25)})
			},
			want:  []string{"apply before 10: snapshot 1, by anna", "snapshot before 10: snapshot 1", "schedule 25 +0 latest: picked: it joined", "release 30 +5 latest: snapshot 1"},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"not decided yet": {
			change: func(w *world) {
				w.Placement.Generation, w.Stored.Spec = 2, at(5000)
				w.Past[0].Generation, w.Past[0].Request = 2, "r2"
			},
			want: []string{
				"apply 12 +0 latest: generation 2 of the spec, by anna", "snapshot before 10: snapshot 1", "schedule waits: the scheduler has not decided on generation 2",
				"release pending", "command pending", "received pending", "applied pending", "available pending", "reported pending",
			},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"held": {
			change: func(w *world) {
				w.Snapshot.Index, w.Stored.Snapshot = 2, at(5000)
				w.Release.Held = []api.Held{{Member: "berlin", Reason: "waits: 1 of 3 members are unavailable"}}
			},
			want: []string{
				"apply 5000 +0: snapshot 2, by anna", "snapshot 5000 +0: snapshot 2", "schedule before 20: picked",
				"release waits: 1 of 3 members are unavailable", "command pending", "received pending", "applied pending", "available pending", "reported pending",
			},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"paused": {
			change: func(w *world) {
				w.Snapshot.Index, w.Stored.Snapshot = 2, at(5000)
				w.Placement.Annotations = map[string]string{api.AnnotationPaused: `{"by":"olaf","reason":"errors"}`}
			},
			want: []string{
				"apply 5000 +0: snapshot 2, by anna", "snapshot 5000 +0: snapshot 2", "schedule before 20: picked",
				"release waits: paused by olaf: errors", "command pending", "received pending", "applied pending", "available pending", "reported pending",
			},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"to be given up": {
			change: func(w *world) {
				w.Schedule.Bindings = w.Schedule.Bindings[1:]
				w.Release.Entries[0].Withdrawn = true
				w.known["berlin"].Result.Withdrawn = true
				w.Past[2].Picks = &api.Picks{Count: 2, Lost: []api.PickChange{{Reason: "was evicted", Members: []string{"berlin"}, Total: 1}}}
			},
			gone:  []string{"apply", "snapshot", "available"},
			want:  []string{"schedule 20 +0 latest: no longer picked: was evicted", "release 30 +10 latest: withdrawn", "reported 400 +250"},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"compared, and nothing written": {
			change: func(w *world) {
				w.Release.Entries[0].Apply = &api.ApplyStrategy{Type: api.ApplyReportDiff}
				r := w.known["berlin"].Result
				r.Applied, r.Available, r.DiffReported, r.Times.Available = "Unknown", "", "True", nil
			},
			gone:  []string{"available"},
			want:  []string{"reported 400 +250"},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"overrides": {
			change: func(w *world) {
				w.Rendered = &api.Rendered{UID: "u1", Snapshot: 1, Overrides: []api.OverrideVersion{{Name: "eu"}}}
				w.Stored.Rendered = at(25)
			},
			want:  []string{"schedule 20 +10 latest: picked\nrender 25 +5 latest: overrides: eu", "release 30 +5 latest: snapshot 1"},
			clock: &api.AgentClock{By: "heartbeat"},
		},
		"to be compared, and not answered": {
			change: func(w *world) {
				w.Release.Entries[0].Apply = &api.ApplyStrategy{Type: api.ApplyReportDiff}
				w.known["berlin"].Result = nil
			},
			want: unanswered, gone: []string{"available"},
		},
		"to be withdrawn, and not answered": {
			change: func(w *world) {
				w.Release.Entries[0].Withdrawn = true
				w.Schedule.Bindings = w.Schedule.Bindings[1:]
				w.Past[2].Picks = &api.Picks{Count: 2, Lost: []api.PickChange{{Reason: "was evicted", Members: []string{"berlin"}, Total: 1}}}
				w.known["berlin"].Result = nil
			},
			gone: []string{"apply", "snapshot", "available"},
			want: append([]string{"schedule 20 +0 latest: no longer picked: was evicted", "release 30 +10 latest: withdrawn"}, unanswered...),
		},
		"overrides of another placement of its name": {
			change: func(w *world) {
				w.Rendered = &api.Rendered{UID: "u2", Snapshot: 1, Overrides: []api.OverrideVersion{{Name: "eu"}}}
				w.Stored.Rendered = at(25)
			},
		},
		"no overrides": {
			change: func(w *world) { w.Rendered, w.Stored.Rendered = &api.Rendered{UID: "u1", Snapshot: 1}, at(25) },
		},
		"overrides that are gone": {
			change: func(w *world) {
				w.Rendered, w.Stored.Rendered = &api.Rendered{UID: "u1", Snapshot: 1}, at(25)
				w.Release.Entries[0].Overrides = []api.OverrideVersion{{Name: "eu"}}
			},
			want: []string{"schedule 20 +10 latest: picked\nrender 25 +5 latest: overrides: none any more", "release 30 +5 latest: snapshot 1"},
		},
		"overrides that were followed before": {
			change: func(w *world) {
				w.Rendered, w.Stored.Rendered = &api.Rendered{UID: "u1", Snapshot: 1, Overrides: []api.OverrideVersion{{Name: "eu"}, {Name: "us"}}}, at(-5)
			},
			want: []string{"schedule 20 +10 latest: picked\nrender before -5: overrides: eu, us"},
		},
		"overrides that were followed since": {
			change: func(w *world) {
				w.Rendered, w.Stored.Rendered = &api.Rendered{UID: "u1", Snapshot: 1, Overrides: []api.OverrideVersion{{Name: "eu"}}}, at(500)
			},
			want: []string{"schedule 20 +10 latest: picked\nrender unknown: overrides: eu; followed anew since"},
		},
		"not released, of overrides": {
			change: func(w *world) {
				w.Release.Entries = w.Release.Entries[1:]
				w.Rendered, w.Stored.Rendered = &api.Rendered{UID: "u1", Overrides: []api.OverrideVersion{{Name: "eu"}}}, at(25)
				w.known["berlin"].Result = nil
			},
			want: append([]string{"schedule 20 +10 latest: picked\nrender waits: overrides are not followed yet in snapshot 1", "release pending"}, pending...),
		},
		"not released, and known why": {
			change: func(w *world) {
				w.Release.Entries = w.Release.Entries[1:]
				w.known["berlin"].Result, w.known["berlin"].Waits = nil, "waits for a staged run"
			},
			want: append([]string{"release waits: a staged run"}, pending...),
		},
		"not released, and nobody knows why": {
			change: func(w *world) {
				w.Release.Entries = w.Release.Entries[1:]
				w.known["berlin"].Result = nil
			},
			want: append([]string{"release waits: the roller has not decided yet"}, pending...),
		},
		"held for another reason than others": {
			change: func(w *world) {
				w.Release.Entries = w.Release.Entries[1:]
				w.Release.Held = []api.Held{{Member: "lima", Reason: "another"}, {Member: "berlin", Reason: "waits for lima"}}
				w.known["berlin"].Result = nil
			},
			want: append([]string{"release waits: lima"}, pending...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c.change(w)
			require.Equal(t, with(c.want, c.gone), w.berlin(t))
			if c.clock != nil {
				for _, m := range trace.Of(w.Input).Members {
					if m.Member == "berlin" {
						require.Equal(t, c.clock, m.Clock)
					}
				}
			}
		})
	}
}

// with are the lines of a trace in which all went well, but for some.
func with(lines, gone []string) string {
	var out []string
	for line := range strings.Lines(whole) {
		line = strings.TrimSuffix(line, "\n")
		hop, _, _ := strings.Cut(line, " ")
		left := false
		for _, other := range lines {
			if strings.HasPrefix(other, hop+" ") {
				line = other
			}
		}
		for _, other := range gone {
			left = left || other == hop
		}
		if !left {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func TestTheSlowestMemberIsFirstAndHopsAreSummedUp(t *testing.T) {
	w := newWorld()
	w.known["lima"].Result.Times.Available = new(int64(30_000))
	w.known["lima"].Stored = at(30_500)
	w.known["oslo"].Result = nil
	got := trace.Of(w.Input)
	var order []string
	for _, m := range got.Members {
		order = append(order, m.Member)
	}
	require.Equal(t, []string{"oslo", "lima", "berlin"}, order, "who is not there has been on the way for longest")
	require.Equal(t, 2, got.Done)
	require.Equal(t, 3, got.Total)
	byHop := map[string]api.HopSummary{}
	for _, h := range got.Hops {
		byHop[h.Hop] = h
	}
	require.Equal(t, api.HopSummary{Hop: "available", Members: 2, P50Ms: 200, P90Ms: 29_900, MaxMs: 29_900, Slowest: "lima"}, byHop["available"])
	require.Equal(t, 3, byHop["command"].Members)
	require.Equal(t, api.HopSummary{Hop: "total", Members: 2, P50Ms: 390, P90Ms: 30_490, MaxMs: 30_490, Slowest: "lima"}, byHop["total"])
	w.Only = "berlin"
	require.Len(t, trace.Of(w.Input).Members, 1)
}

// That selectors could not be followed concerns all members, so it is told of the whole, and only then.
func TestATraceTellsOfSelectorsThatCouldNotBeFollowed(t *testing.T) {
	w := newWorld()
	require.Empty(t, trace.Of(w.Input).Notes)
	w.Snapshot.Index, w.Snapshot.Error = 2, "no kind Realm"
	require.Equal(t, []string{"snapshot 2: its selectors could not be followed: no kind Realm"}, trace.Of(w.Input).Notes)
	w.Snapshot = nil
	require.Empty(t, trace.Of(w.Input).Notes, "nothing was selected yet")
}
