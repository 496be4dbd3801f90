package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
)

func value(text string) *intstr.IntOrString {
	v := intstr.Parse(text)
	return &v
}

func TestScaleRoundsUp(t *testing.T) {
	for _, c := range []struct {
		value  *intstr.IntOrString
		target int
		want   int
		text   string
	}{
		{nil, 8, 2, "25%"},
		{nil, 9, 3, "25%"},
		{nil, 1, 1, "25%"},
		{nil, 0, 0, "25%"},
		{value("1%"), 10000, 100, "1%"},
		{value("1%"), 10001, 101, "1%"},
		{value("100%"), 7, 7, "100%"},
		{value("0%"), 7, 0, "0%"},
		{value("3"), 2, 3, "3"},
		{value("0"), 2, 0, "0"},
		{value("many"), 8, 2, "25%"},
		{value("-1"), 8, 2, "25%"},
	} {
		got, text := scale(c.value, "25%", c.target)
		require.Equal(t, c.want, got, "%v of %d", c.value, c.target)
		require.Equal(t, c.text, text)
	}
}

func TestTarget(t *testing.T) {
	three := int32(3)
	bindings := []api.Binding{{Member: "a"}, {Member: "b"}}
	kept := []api.Binding{{Member: "a"}, {Member: "b", Waiting: true}}
	for name, c := range map[string]struct {
		policy   *api.Policy
		schedule *api.Schedule
		want     int
	}{
		"not scheduled yet":               {nil, nil, 0},
		"all: those bound":                {nil, &api.Schedule{UID: "u", Bindings: bindings}, 2},
		"fixed: not those never found":    {&api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"a", "b", "x"}}, &api.Schedule{UID: "u", Want: &three, Bindings: bindings}, 2},
		"fixed: those that are kept too":  {&api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"a", "b", "x"}}, &api.Schedule{UID: "u", Want: &three, Bindings: kept}, 2},
		"N: not those never found":        {&api.Policy{PlacementType: api.PickN, NumberOfClusters: &three}, &api.Schedule{UID: "u", Want: &three, Bindings: bindings}, 2},
		"the schedule goes before policy": {&api.Policy{PlacementType: api.PickN, NumberOfClusters: new(int32)}, &api.Schedule{UID: "u", Want: &three, Bindings: bindings}, 2},
		"a schedule of another uid":       {nil, &api.Schedule{UID: "other", Bindings: bindings}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Schedule: c.schedule}
			in.Placement.UID = "u"
			in.Placement.Spec.Policy = c.policy
			require.Equal(t, c.want, newRollout(in, in.known).target())
		})
	}
}

func TestPace(t *testing.T) {
	require.Equal(t, "at any time at most 2 (25%) of 7 unavailable, and at most 2 (25%) beyond them", Pace(&api.Strategy{}, 7))
	require.Equal(t, "at any time at most 1 of 7 unavailable, and at most 0 (0%) beyond them",
		Pace(&api.Strategy{RollingUpdate: &api.RollingUpdate{MaxUnavailable: value("1"), MaxSurge: value("0%")}}, 7))
}

func TestAvailable(t *testing.T) {
	released := start
	for name, c := range map[string]struct {
		result  api.PlacementResult
		after   time.Duration // since the release
		ready   bool
		readyAt time.Duration
	}{
		"trackable": {result: api.PlacementResult{Available: "True", AvailableReason: "AllWorkAreAvailable"}, ready: true},
		"not yet":   {result: api.PlacementResult{Available: "False", AvailableReason: "NotAllWorkAreAvailable"}},
		"no word":   {result: api.PlacementResult{}},
		"withdrawn": {result: api.PlacementResult{Available: "True", Withdrawn: true}},
		"untrackable, within the period": {
			result: api.PlacementResult{Available: "True", AvailableReason: reasonUntrackable, Changed: metav1.NewTime(start.Add(10 * time.Second))},
			after:  70 * time.Second, readyAt: 70*time.Second + time.Millisecond,
		},
		"untrackable, past the period": {
			result: api.PlacementResult{Available: "True", AvailableReason: reasonUntrackable, Changed: metav1.NewTime(start.Add(10 * time.Second))},
			after:  70*time.Second + time.Millisecond, ready: true,
		},
		"untrackable, by a clock that is a day ahead": {
			result: api.PlacementResult{Available: "True", AvailableReason: reasonUntrackable, Changed: metav1.NewTime(start.Add(24 * time.Hour))},
			after:  60*time.Second + time.Millisecond, ready: true,
		},
		"untrackable, by a clock that is behind": {
			result: api.PlacementResult{Available: "True", AvailableReason: reasonUntrackable, Changed: metav1.NewTime(start.Add(-time.Hour))},
			after:  60 * time.Second, readyAt: 60*time.Second + time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ready, readyAt := Available(&c.result, released, time.Minute, released.Add(c.after))
			require.Equal(t, c.ready, ready)
			if c.readyAt == 0 {
				require.Zero(t, readyAt)
				return
			}
			require.Equal(t, released.Add(c.readyAt), readyAt)
		})
	}
}

func TestInProgressIsNotFailed(t *testing.T) {
	for _, c := range []struct {
		result api.PlacementResult
		failed bool
	}{
		{api.PlacementResult{Applied: "False", AppliedReason: "NotAllWorkHaveBeenApplied"}, true},
		{api.PlacementResult{Applied: "False", AppliedReason: "ApplyInProgress"}, false},
		{api.PlacementResult{Applied: "False", AppliedReason: "ApplyPending"}, false},
		{api.PlacementResult{Applied: "Unknown", AppliedReason: "ApplyInProgress"}, false},
		{api.PlacementResult{Applied: "True", Available: "False", AvailableReason: "NotAllWorkAreAvailable"}, false},
		{api.PlacementResult{Applied: "True", Available: "Unknown"}, false},
	} {
		require.Equal(t, c.failed, applyFailed(&c.result), "%+v", c.result)
	}
}

func TestUnavailablePeriod(t *testing.T) {
	zero := int32(0)
	require.Equal(t, time.Minute, UnavailablePeriod(nil))
	require.Equal(t, time.Minute, UnavailablePeriod(&api.RollingUpdate{}))
	require.Zero(t, UnavailablePeriod(&api.RollingUpdate{UnavailablePeriodSeconds: &zero}))
}

func TestEvents(t *testing.T) {
	w := newWorld()
	w.placement(t, []string{"web", "PickAll", "maxUnavailable=1"})
	w.snapshot(t, []string{"1"})
	w.bind(t, []string{"a", "b", "c", "d"})
	p := Next(w.in)
	require.Equal(t, []api.Audit{{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(start), Object: "placement/web", Type: "Normal",
		Reason: EventReleased, Message: "snapshot 1 released to a, b, c and 1 other (4 of 4)", By: "roller",
		Snapshot: 1, Step: 1,
	}}, p.Events)
	w.settle(t, nil)

	w.snapshot(t, []string{"2"})
	w.bind(t, []string{"a", "b"})
	w.member(t, []string{"d", "gone"})
	p = Next(w.in)
	var told []string
	for _, e := range p.Events {
		told = append(told, e.Type+" "+e.Reason+" "+e.Member+": "+e.Message)
	}
	require.Equal(t, []string{
		"Warning PlacementMemberGone d: d left the fleet before the withdrawal was confirmed; what runs there was not touched",
		"Normal PlacementWithdrawn c: withdrawn from c",
		"Normal PlacementReleased a: snapshot 2 released to a (1 of 2)",
	}, told, "who makes room is told of before who gets it")
}

func TestNothingToDo(t *testing.T) {
	w := newWorld()
	w.placement(t, []string{"web", "PickAll"})
	p := Next(w.in)
	require.False(t, p.Changed)
	require.Equal(t, "nothing\n", p.String())
	require.Empty(t, p.Release.Entries)

	w.delete(t, []string{"done"})
	w.in.Release = &api.Release{Placement: "ns/web"}
	p = Next(w.in)
	require.False(t, p.Changed)
	require.Equal(t, "ns/web", p.Release.Placement)
}
