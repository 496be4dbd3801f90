package schedule_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

func scheduleOf(members ...string) *api.Schedule {
	s := &api.Schedule{Placement: "web", UID: "u1", Generation: 3, Fulfilled: true, Message: "found all"}
	for _, m := range members {
		s.Bindings = append(s.Bindings, api.Binding{Member: m, Reason: "picked " + m})
	}
	return s
}

// One decision is one event, whatever the number of members, and another one where enough were found, or no longer.
func TestADecisionIsOneEvent(t *testing.T) {
	for name, c := range map[string]struct {
		before, now *api.Schedule
		removed     []schedule.Removal
		reason      string
		member      string
		message     string
		picks       api.Picks
	}{
		"the first": {
			now: scheduleOf("a", "b", "c", "d"), reason: "MembersChanged", message: "picked a, b, c and 1 other",
			picks: api.Picks{Count: 4, Gained: []api.PickChange{{Members: []string{"a", "b", "c", "d"}, Total: 4}}},
		},
		"one more": {
			before: scheduleOf("a"), now: scheduleOf("a", "b"), reason: "MemberPicked", member: "b", message: "picked b",
			picks: api.Picks{Count: 2, Gained: []api.PickChange{{Members: []string{"b"}, Total: 1}}},
		},
		"one less": {
			before: scheduleOf("a", "b"), now: scheduleOf("a"), removed: []schedule.Removal{{Member: "b", Reason: "was evicted"}},
			reason: "MemberRemoved", member: "b", message: "b: was evicted",
			picks: api.Picks{Count: 1, Lost: []api.PickChange{{Reason: "was evicted", Members: []string{"b"}, Total: 1}}},
		},
		"another placement of its name": {
			before: &api.Schedule{UID: "u0", Fulfilled: true, Bindings: []api.Binding{{Member: "a"}}}, now: scheduleOf("a"),
			reason: "MemberPicked", member: "a", message: "picked a",
			picks: api.Picks{Count: 1, Gained: []api.PickChange{{Members: []string{"a"}, Total: 1}}},
		},
		"some for others": {
			before: scheduleOf("a", "b", "c"), now: scheduleOf("c", "d"),
			removed: []schedule.Removal{{Member: "a", Reason: "is away"}, {Member: "b", Reason: "is away"}},
			reason:  "MembersChanged", message: "picked d; removed a and b: is away",
			picks: api.Picks{
				Count: 2, Gained: []api.PickChange{{Members: []string{"d"}, Total: 1}},
				Lost: []api.PickChange{{Reason: "is away", Members: []string{"a", "b"}, Total: 2}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := schedule.Events(c.before, c.now, c.removed)
			require.Len(t, told, 1)
			require.Equal(t, api.Audit{
				Object: "placement/web", Type: "Normal", Reason: c.reason, Member: c.member, Message: c.message, By: "scheduler", Generation: 3, Picks: &c.picks,
			}, told[0])
		})
	}
	require.Empty(t, schedule.Events(scheduleOf("a"), scheduleOf("a"), nil))
	unmet := scheduleOf("a")
	unmet.Fulfilled, unmet.Message = false, "found too few"
	require.Equal(t, "SchedulingPolicyUnfulfilled", schedule.Events(scheduleOf("a"), unmet, nil)[0].Reason)
	require.Equal(t, "SchedulingPolicyFulfilled", schedule.Events(unmet, scheduleOf("a"), nil)[0].Reason)
}

// Whatever their number and the length of their names, members are named as far as an event has room, and counted.
func TestWhatThereIsNoRoomForIsCounted(t *testing.T) {
	var names []string
	var removed []schedule.Removal
	for i := range 1000 {
		names = append(names, fmt.Sprintf("member-with-a-rather-long-name-as-people-give-them-%04d", i))
		removed = append(removed, schedule.Removal{Member: fmt.Sprintf("gone-%04d", i), Reason: fmt.Sprintf("reason %d, with what was found and what was wanted, \"\u00e9\" and so on and on and on", i)})
	}
	for _, told := range [][]api.Audit{
		schedule.Events(nil, scheduleOf(names...), nil), schedule.Events(nil, scheduleOf(), removed), schedule.Events(nil, scheduleOf(names...), removed),
	} {
		e := told[0]
		e.Header = api.NewHeader(api.KindAudit)
		text, err := json.Marshal(e.Picks)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), 900)
		gained, lost := 0, 0
		for _, c := range e.Picks.Gained {
			gained += c.Total
		}
		for _, c := range e.Picks.Lost {
			lost += c.Total
		}
		require.Equal(t, e.Picks.Count, gained)
		require.Contains(t, []int{0, 1000}, lost)
		require.LessOrEqual(t, len(e.Picks.Lost), 4)
	}
}
