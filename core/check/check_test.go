package check_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/check"
	"flotilla/core/rollout"
)

// world is a placement under a check, and what was given to members.
type world struct {
	t      *testing.T
	in     check.Input
	views  map[string]rollout.MemberView
	said   map[string]*api.PlacementResult
	events []string
	asked  []check.Question
	next   time.Time
}

func newWorld(t *testing.T, onFailure string) *world {
	t.Helper()
	w := &world{t: t, views: map[string]rollout.MemberView{}, said: map[string]*api.PlacementResult{}}
	c := &api.RolloutCheck{Spec: api.RolloutCheckSpec{
		Soak: span(time.Minute), Interval: span(10 * time.Second), FailureLimit: new(int32(2)), OnFailure: onFailure,
		Checks: []api.Check{
			{Name: "available", Availability: &api.AvailabilityCheck{Within: span(5 * time.Minute)}},
			{Name: "errors", Webhook: &api.WebhookCheck{Webhook: "judge"}},
		},
	}}
	c.Name, c.Generation = "slow", 1
	p := &api.Placement{}
	p.Name, p.UID = "web", "u1"
	w.in = check.Input{
		Name: "slow", Check: c, Placement: p, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Schedule: &api.Schedule{UID: "u1"}, Release: &api.Release{}, Latest: &api.Snapshot{UID: "u1", Index: 7},
		Known: func(member string) (*api.PlacementResult, rollout.MemberView) { return w.said[member], w.views[member] },
	}
	for _, name := range []string{"berlin", "oslo"} {
		w.views[name] = rollout.MemberView{State: api.MemberReady}
		w.in.Schedule.Bindings = append(w.in.Schedule.Bindings, api.Binding{Member: name})
	}
	w.follow()
	return w
}

func span(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// follow decides, and once more: that changes nothing.
func (w *world) follow(answers ...check.Answer) {
	w.t.Helper()
	w.in.Answers = answers
	plan := check.Follow(w.in)
	require.Equal(w.t, !reflect.DeepEqual(w.in.Record, plan.Record), plan.Changed)
	w.in.Record, w.in.Answers = plan.Record, nil
	w.asked, w.next = plan.Ask, plan.Recheck
	for i := range plan.Events {
		w.events = append(w.events, plan.Events[i].Reason)
	}
	again := check.Follow(w.in)
	require.False(w.t, again.Changed, "deciding twice changed %+v into %+v", plan.Record, again.Record)
}

func (w *world) give(member string, generation int64) {
	w.in.Release.Entries = append(w.in.Release.Entries, api.ReleaseEntry{
		Member: member, UID: "u1", Snapshot: 7, Generation: generation, Since: metav1.NewTime(w.in.Now), Earlier: &api.Earlier{Snapshot: 6},
	})
	w.follow()
}

func (w *world) says(member, available string) {
	for i := range w.in.Release.Entries {
		if e := &w.in.Release.Entries[i]; e.Member == member {
			w.said[member] = &api.PlacementResult{UID: "u1", Generation: e.Generation, Available: available, AvailableMessage: "crashes", Applied: "True"}
		}
	}
	w.follow()
}

// after lets time pass, and answers what is asked.
func (w *world) after(d time.Duration, passed bool) {
	w.t.Helper()
	w.in.Now = w.in.Now.Add(d)
	w.follow()
	var answers []check.Answer
	for _, q := range w.asked {
		answers = append(answers, check.Answer{Question: q, Passed: passed, Message: "value 3", At: w.in.Now})
	}
	w.follow(answers...)
}

func (w *world) is(phase string) {
	w.t.Helper()
	require.Equal(w.t, phase, w.in.Record.Phase, w.in.Record.Message)
}

// What is waited for is told as the member tells it: the first object in trouble, else what it says of all.
func TestWhatASnapshotLacksIsTold(t *testing.T) {
	failure := api.ManifestFailure{ObjectRef: api.ObjectRef{Kind: "Deployment", Namespace: "shop", Name: "web"}, Condition: "Available", Reason: "ManifestNotAvailableYet"}
	withMessage := failure
	withMessage.Message = "1 of 3 available"
	for want, r := range map[string]api.PlacementResult{
		"is not available yet": {}, "is applied": {AppliedMessage: "is applied", AvailableMessage: "crashes"}, "crashes": {AvailableMessage: "crashes"},
		failure.String() + ": ManifestNotAvailableYet": {Failures: []api.ManifestFailure{failure, withMessage}, AppliedMessage: "is applied"},
		withMessage.String() + ": 1 of 3 available":    {Failures: []api.ManifestFailure{withMessage}},
	} {
		w := newWorld(t, api.OnFailureRollBack)
		w.give("berlin", 1)
		r.UID, r.Generation, r.Applied, r.Available = "u1", 1, "True", "False"
		w.said["berlin"] = &r
		w.follow()
		require.Equal(t, "waits for berlin: "+want, w.in.Record.Message)
	}
}

func TestASnapshotPassesOnceItsChecksHeldEverywhere(t *testing.T) {
	w := newWorld(t, api.OnFailureRollBack)
	require.Equal(t, "waits for a member to be given snapshot 7", w.in.Record.Message)
	w.give("berlin", 1)
	require.Empty(t, w.asked, "nothing is asked of what is not available")
	require.Equal(t, "waits for berlin: has not answered yet", w.in.Record.Message)
	w.says("berlin", "True")
	require.Len(t, w.asked, 1)
	w.after(0, true)
	require.Equal(t, w.in.Now, w.in.Record.Holds.Time)
	w.after(59*time.Second, true)
	require.False(t, w.in.Record.Soaked)
	w.in.Now = w.in.Now.Add(time.Second)
	w.follow()
	require.False(t, w.in.Record.Soaked, "it is asked once more at the end")
	require.Len(t, w.asked, 1)
	w.after(0, true)
	require.True(t, w.in.Record.Soaked)
	w.is(api.CheckChecking)

	w.give("oslo", 2)
	require.False(t, w.in.Record.Soaked, "who is given it later begins the soak time anew")
	w.says("oslo", "True")
	w.after(0, true)
	w.after(time.Minute, true)
	w.is(api.CheckPassed)
	require.Equal(t, []string{"RolloutChecking", "RolloutChecksHeld", "RolloutChecksHeld", "RolloutChecksPassed"}, w.events)
}

// While a rollout is halted, or no run brings the snapshot, nothing is asked, and what held before counts no more.
func TestChecksRestWhileNothingGoesOn(t *testing.T) {
	for want, change := range map[string]func(*check.Input){
		"nothing is asked: it is paused":               func(in *check.Input) { in.Halted = "it is paused" },
		"waits: there is no rollout check slow":        func(in *check.Input) { in.Check = nil },
		"nothing is asked: no staged run is under way": func(in *check.Input) { in.Placement.Spec.Strategy.Type = api.StrategyExternal },
		"waits for a member to be given snapshot 7":    func(in *check.Input) { in.Release = &api.Release{} },
		"": func(in *check.Input) { in.Placement.Spec.Strategy.Type, in.Running = api.StrategyExternal, true },
	} {
		w := newWorld(t, api.OnFailureRollBack)
		w.give("berlin", 1)
		w.says("berlin", "True")
		w.after(0, true)
		w.after(time.Minute, true)
		require.True(t, w.in.Record.Soaked)
		change(&w.in)
		w.follow()
		if want == "" {
			require.True(t, w.in.Record.Soaked)
			continue
		}
		require.Equal(t, want, w.in.Record.Message)
		require.False(t, w.in.Record.Soaked, want)
		require.Empty(t, w.in.Record.Outcomes)
		require.True(t, w.in.Record.Holds.IsZero())
		require.Empty(t, w.asked)
	}
}

func TestFailuresInARowRefuseASnapshot(t *testing.T) {
	for onFailure, phase := range map[string]string{api.OnFailureStop: api.CheckStopped, "": api.CheckStopped, api.OnFailureRollBack: api.CheckRollingBack} {
		w := newWorld(t, onFailure)
		w.give("berlin", 1)
		w.says("berlin", "True")
		w.after(0, false)
		w.after(10*time.Second, true)
		w.after(10*time.Second, false)
		w.is(api.CheckChecking)
		require.Equal(t, "errors failed 1 time in a row, 2 are a failure: value 3", w.in.Record.Message)
		w.after(9*time.Second, false)
		require.Equal(t, 1, w.in.Record.Outcomes[1].Failures, "it is asked once an interval")
		w.after(time.Second, false)
		w.is(phase)
		require.True(t, w.in.Record.Refuses("u1", 7))
		require.Equal(t, "check errors of rollout check slow failed 2 times in a row on berlin: value 3", w.in.Record.Refused.Message)
		require.Empty(t, w.asked)
	}
}

func TestWhatDoesNotBecomeAvailableFails(t *testing.T) {
	w := newWorld(t, api.OnFailureRollBack)
	w.give("berlin", 1)
	w.says("berlin", "False")
	w.after(5*time.Minute-time.Second, true)
	require.Zero(t, w.in.Record.Outcomes[0].Failures)
	w.after(time.Second, true)
	require.Equal(t, 1, w.in.Record.Outcomes[0].Failures)
	w.after(10*time.Second, true)
	w.is(api.CheckRollingBack)
	require.Contains(t, w.in.Record.Refused.Message, "not available within 5m: berlin: crashes")
}

func TestNobodyIsAsked(t *testing.T) {
	w := newWorld(t, api.OnFailureRollBack)
	w.give("berlin", 1)
	w.says("berlin", "True")
	w.after(0, false)
	for name, halt := range map[string]func(bool){
		"paused": func(on bool) {
			w.in.Halted = ""
			if on {
				w.in.Halted = "the rollout is paused by anna"
			}
		},
		"no rollout check": func(on bool) {
			held := w.in.Check
			if w.in.Check = nil; !on {
				w.in.Check = held
			}
		},
	} {
		check, halted := w.in.Check, w.in.Halted
		halt(true)
		w.after(time.Hour, false)
		require.Contains(t, w.in.Record.Message, name)
		require.Empty(t, w.in.Record.Outcomes)
		require.Empty(t, w.asked)
		w.in.Check, w.in.Halted = check, halted
		w.follow()
		require.Len(t, w.asked, 1, "failures before do not count: it is asked anew")
		w.after(0, false)
		w.is(api.CheckChecking)
	}
}

func TestWhoIsNotHeardOfIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, api.OnFailureRollBack)
	w.give("berlin", 1)
	w.give("oslo", 2)
	w.says("berlin", "True")
	require.Empty(t, w.asked)
	w.views["oslo"] = rollout.MemberView{State: api.MemberUnknown}
	w.follow()
	w.after(0, true)
	w.after(time.Minute, true)
	w.is(api.CheckPassed)
}

func TestAnAnswerAboutSomethingElseDoesNotCount(t *testing.T) {
	w := newWorld(t, api.OnFailureRollBack)
	w.give("berlin", 1)
	w.says("berlin", "True")
	stale := check.Answer{Question: w.asked[0], Passed: true, At: w.in.Now}
	w.give("oslo", 2)
	w.says("oslo", "True")
	w.follow(stale)
	require.True(t, w.in.Record.Holds.IsZero())
	stale = check.Answer{Question: w.asked[0], Passed: true, At: w.in.Now}
	w.in.Check.Generation = 2
	w.follow(stale)
	require.True(t, w.in.Record.Holds.IsZero(), "the check changed")
}

func TestWhoCannotBeAskedNeitherPassesNorFails(t *testing.T) {
	w := newWorld(t, api.OnFailureRollBack)
	w.give("berlin", 1)
	w.says("berlin", "True")
	for range 5 {
		w.in.Now = w.in.Now.Add(time.Minute)
		w.follow()
		require.Len(t, w.asked, 1)
		w.follow(check.Answer{Question: w.asked[0], Unasked: true, Message: "the configuration of the hub has no checks.webhooks named judge", At: w.in.Now})
	}
	w.is(api.CheckChecking)
	require.True(t, w.in.Record.Holds.IsZero())
	require.Equal(t, "errors cannot be asked: the configuration of the hub has no checks.webhooks named judge", w.in.Record.Message)
}

func TestWhatIsExempt(t *testing.T) {
	w := newWorld(t, api.OnFailureRollBack)
	w.in.Latest = &api.Snapshot{UID: "u1", Index: 8, Undo: &api.Undo{Of: 6}}
	w.follow()
	w.is(api.CheckExempt)
	w.in.Record, w.in.Latest = nil, &api.Snapshot{UID: "u1", Index: 7}
	w.give("berlin", 1)
	w.is(api.CheckExempt)
	w.in.Latest = &api.Snapshot{UID: "u1", Index: 9}
	w.follow()
	w.is(api.CheckChecking)
	w.in.Name = ""
	w.follow()
	require.Nil(t, w.in.Record, "it goes out under none any more")
}

// refused is a world whose snapshot was refused on both members.
func refused(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, api.OnFailureRollBack)
	w.give("berlin", 1)
	w.give("oslo", 2)
	w.says("berlin", "True")
	w.says("oslo", "True")
	w.after(0, false)
	w.after(10*time.Second, false)
	w.is(api.CheckRollingBack)
	return w
}

// back takes a member back, to a snapshot or to nothing.
func (w *world) back(member string, snapshot int64) {
	i := slices.IndexFunc(w.in.Release.Entries, func(e api.ReleaseEntry) bool { return e.Member == member })
	e := &w.in.Release.Entries[i]
	e.RolledBack, e.Earlier, e.Generation, e.Since = e.Snapshot, nil, e.Generation+10, metav1.NewTime(w.in.Now)
	if e.Snapshot = snapshot; snapshot == 0 {
		e.Snapshot, e.Withdrawn = 7, true
	}
	w.follow()
}

func TestARollBackIsDoneOnceEverybodyIsBack(t *testing.T) {
	w := refused(t)
	require.Equal(t, "2 members still to go back, 0 on the way", w.in.Record.Message)
	w.back("berlin", 6)
	w.says("berlin", "True")
	w.is(api.CheckRollingBack)
	w.in.Name = "" // who takes the name away does not end it
	w.back("oslo", 0)
	w.is(api.CheckRollingBack)
	w.in.Release.Entries = w.in.Release.Entries[:1] // it confirmed
	w.follow()
	w.is(api.CheckRolledBack)
	w.in.Now = w.in.Now.Add(time.Hour)
	w.says("berlin", "False")
	w.is(api.CheckRolledBack)
	require.Equal(t, "RolloutRolledBack", w.events[len(w.events)-1])
}

func TestARollBackThatFailsStops(t *testing.T) {
	w := refused(t)
	w.back("berlin", 6)
	w.says("berlin", "False")
	require.Equal(t, w.in.Now.Add(5*time.Minute), w.next)
	w.in.Halted, w.in.Now = "the rollout is paused by anna", w.in.Now.Add(time.Hour)
	w.follow()
	w.is(api.CheckRollingBack)
	w.in.Halted = ""
	w.follow()
	w.is(api.CheckRollBackFailed)
	require.Equal(t, "the roll-back stopped, for berlin is not available on snapshot 6 within 5m: crashes", w.in.Record.Message)
	require.True(t, w.in.Record.Refuses("u1", 7))
	w.in.Latest = &api.Snapshot{UID: "u1", Index: 8}
	w.follow()
	w.is(api.CheckChecking)
	require.True(t, strings.HasPrefix(fmt.Sprint(w.in.Record.Refused), "snapshot 7 is refused"), "what was refused is remembered")
}
