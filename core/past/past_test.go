package past_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/past"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func told(n int, e api.Audit) api.Told {
	if e.Type == "" {
		e.Type = "Normal"
	}
	return api.Told{Audit: e, Stored: minute(n)}
}

func gained(count int, members ...string) *api.Picks {
	return &api.Picks{Count: count, Gained: []api.PickChange{{Members: members, Total: len(members)}}}
}

func lost(count int, reason string, members ...string) *api.Picks {
	return &api.Picks{Count: count, Lost: []api.PickChange{{Reason: reason, Members: members, Total: len(members)}}}
}

// story is a placement that was applied twice, rolled out, paused and went on; oslo took the place of berlin.
func story() past.Input {
	return past.Input{
		Name: "web", KeptFrom: noon.Add(-time.Hour),
		Spec:      &api.Spec{UID: "u1", Generation: 2, Created: metav1.NewTime(noon), Body: json.RawMessage(`{"spec":{"now":2}}`)},
		Schedule:  &api.Schedule{UID: "u1", Bindings: []api.Binding{{Member: "lima"}, {Member: "oslo"}}},
		Snapshots: []*api.Snapshot{{Index: 2, By: "olaf", Created: metav1.NewTime(minute(20))}},
		Told: []api.Told{
			told(0, api.Audit{Reason: "Created", By: "anna", Generation: 1, Spec: json.RawMessage(`{"was":1}`), Request: "r1"}),
			told(0, api.Audit{Reason: "SnapshotCut", By: "door", Snapshot: 1, Message: "snapshot 1 holds 1 object"}),
			told(1, api.Audit{Reason: "MembersChanged", By: "scheduler", Generation: 1, Picks: gained(2, "berlin", "lima")}),
			told(2, api.Audit{Reason: "PlacementReleased", By: "roller", Snapshot: 1, Message: "first"}),
			told(3, api.Audit{Reason: "PlacementReleased", By: "roller", Snapshot: 1, Message: "second"}),
			told(4, api.Audit{Reason: "PlacementApplied", By: "reporter"}),
			told(5, api.Audit{Reason: "PlacementRolloutCompleted", By: "reporter", Snapshot: 1}),
			told(10, api.Audit{Reason: "RolloutPaused", By: "olaf", Message: "paused by olaf"}),
			told(15, api.Audit{Reason: "RolloutResumed", By: "olaf", Message: "it was paused by olaf"}),
			told(20, api.Audit{Reason: "SnapshotCut", By: "door", Snapshot: 2}),
			told(30, api.Audit{Reason: "Configured", By: "anna", Generation: 2}),
			told(31, api.Audit{Reason: "MemberRemoved", By: "scheduler", Generation: 2, Member: "berlin", Picks: lost(1, "was evicted", "berlin")}),
			told(32, api.Audit{Reason: "MemberPicked", By: "scheduler", Generation: 2, Member: "oslo", Message: "oslo is best", Picks: gained(2, "oslo")}),
			told(40, api.Audit{Reason: "CannotApply", Type: "Warning", By: "reporter", Message: "it fails"}),
		},
	}
}

func TestAHistoryTellsWhatMattersOnce(t *testing.T) {
	got := past.Of(story())
	var lines []string
	for _, e := range got.Entries {
		lines = append(lines, fmt.Sprintf("%d %s by %s", int(e.At.Sub(noon).Minutes()), e.What, e.By))
	}
	require.Equal(t, []string{
		"0 applied by anna", "0 snapshot by door", "1 picks by scheduler", "2 rollout begun by roller", "5 rollout ended by reporter",
		"10 paused by olaf", "15 resumed by olaf", "20 snapshot by olaf", "30 applied by anna", "31 picks by scheduler", "32 picks by scheduler", "40 trouble by reporter",
	}, lines, "of a snapshot that is kept it is known who caused it")
	in := story()
	in.Since, in.Limit = minute(5), 3
	got = past.Of(in)
	require.Len(t, got.Entries, 3)
	require.Equal(t, 5, got.Left)
	require.Nil(t, got.Then)
	require.True(t, got.Whole)
	in.KeptFrom = minute(1)
	require.False(t, past.Of(in).Whole)
	in.Spec = nil
	require.True(t, past.Of(in).Whole, "what is gone was made, as events tell")
}

func members(s *api.PastState) (names []string) {
	for _, m := range s.Members {
		names = append(names, m.Member)
	}
	return names
}

func unknown(s *api.PastState) (fields []string) {
	for _, u := range s.Unknown {
		fields = append(fields, u.Field)
	}
	return fields
}

func TestAPlacementAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*past.Input)
		at      int // minutes after noon
		want    api.PastState
		members []string
		unknown []string
	}{
		"before it was made": {at: -5, want: api.PastState{}},
		"at its first picks": {
			at: 1, want: api.PastState{Existed: true, Generation: 1, Spec: json.RawMessage(`{"was":1}`), Snapshot: 1, Picked: 2},
			members: []string{"berlin", "lima"}, unknown: []string{"conditions"},
		},
		"before its first picks": {
			at: 0, want: api.PastState{Existed: true, Generation: 1, Spec: json.RawMessage(`{"was":1}`), Snapshot: 1},
			unknown: []string{"conditions"},
		},
		"in the second in which another snapshot was cut, before it": {
			change: func(in *past.Input) { in.Told[9].Stored = minute(20).Add(time.Millisecond) },
			at:     20, want: api.PastState{Existed: true, Generation: 1, Spec: json.RawMessage(`{"was":1}`), Snapshot: 1, Picked: 2},
			members: []string{"berlin", "lima"}, unknown: []string{"conditions"},
		},
		"after one of its name, of whose end nothing is kept": {
			change: func(in *past.Input) {
				in.Told = slices.Insert(in.Told, 0, told(-3, api.Audit{Reason: "MembersChanged", By: "scheduler", Generation: 7, Picks: gained(1, "rome")}))
			},
			at: 0, want: api.PastState{Existed: true, Generation: 1, Spec: json.RawMessage(`{"was":1}`), Snapshot: 1},
			unknown: []string{"conditions"},
		},
		"of which nothing was told, after one of its name": {
			change: func(in *past.Input) {
				in.Told = []api.Told{told(-3, api.Audit{Reason: "MembersChanged", By: "scheduler", Generation: 7, Picks: gained(1, "rome")})}
			},
			at: 5, want: api.PastState{Existed: true, Generation: 2, Spec: json.RawMessage(`{"now":2}`), Picked: 2},
			members: []string{"lima", "oslo"}, unknown: []string{"conditions"},
		},
		"while it was paused": {
			at: 12, want: api.PastState{Existed: true, Generation: 1, Spec: json.RawMessage(`{"was":1}`), Snapshot: 1, Picked: 2, Paused: "paused by olaf"},
			members: []string{"berlin", "lima"}, unknown: []string{"conditions"},
		},
		"between two decisions": {
			at: 31, want: api.PastState{Existed: true, Generation: 2, Spec: json.RawMessage(`{"now":2}`), Snapshot: 2, Picked: 1},
			members: []string{"lima"}, unknown: []string{"conditions"},
		},
		"now": {
			at: 60, want: api.PastState{Existed: true, Generation: 2, Spec: json.RawMessage(`{"now":2}`), Snapshot: 2, Picked: 2},
			members: []string{"lima", "oslo"}, unknown: []string{"conditions"},
		},
		"a spec that was too long": {
			change: func(in *past.Input) { in.Told[0].Spec = nil },
			at:     1, want: api.PastState{Existed: true, Generation: 1, Snapshot: 1, Picked: 2},
			members: []string{"berlin", "lima"}, unknown: []string{"spec", "conditions"},
		},
		"before events are kept": {
			change: func(in *past.Input) { in.Told, in.KeptFrom = in.Told[9:], minute(18) },
			at:     12, want: api.PastState{Existed: true, Paused: ""},
			unknown: []string{"generation", "spec", "snapshot", "picked", "paused", "conditions"},
		},
		"after the first event that is kept, paused before": {
			change: func(in *past.Input) { in.Told, in.KeptFrom = in.Told[8:], minute(11) },
			at:     12, want: api.PastState{Existed: true, Picked: 2, Paused: "paused by olaf"},
			members: []string{"berlin", "lima"}, unknown: []string{"generation", "spec", "conditions"},
		},
		"members that are counted and not named": {
			change: func(in *past.Input) {
				in.Told[2].Picks = &api.Picks{Count: 900, Gained: []api.PickChange{{Members: []string{"berlin"}, Total: 900}}}
				in.Told[11].Picks.Count, in.Told[12].Picks.Count = 899, 900
			},
			at: 1, want: api.PastState{Existed: true, Generation: 1, Spec: json.RawMessage(`{"was":1}`), Snapshot: 1, Picked: 900},
			members: []string{"berlin", "lima"}, unknown: []string{"members", "conditions"},
		},
		"deleted since": {
			change: func(in *past.Input) {
				in.Spec, in.Schedule, in.Snapshots = nil, nil, nil
				in.Told = append(in.Told, told(50, api.Audit{Reason: "MembersChanged", Picks: lost(0, "the placement is being deleted", "lima", "oslo")}), told(51, api.Audit{Reason: "Deleted", By: "anna"}))
			},
			at: 31, want: api.PastState{Existed: true, Generation: 2, Snapshot: 2, Picked: 1},
			members: []string{"lima"}, unknown: []string{"spec", "conditions"},
		},
		"deleted before": {
			change: func(in *past.Input) {
				in.Spec, in.Told = nil, append(in.Told, told(51, api.Audit{Reason: "Deleted", By: "anna"}))
			},
			at: 55, want: api.PastState{},
		},
		"an earlier one of its name": {
			change: func(in *past.Input) {
				in.Spec.Created, in.Spec.UID = metav1.NewTime(minute(55)), "u2"
				in.Told = append(in.Told, told(51, api.Audit{Reason: "Deleted", By: "anna"}), told(55, api.Audit{Reason: "Created", Generation: 1}))
			},
			at: 1, want: api.PastState{Existed: true, Generation: 1, Spec: json.RawMessage(`{"was":1}`), Snapshot: 1, Picked: 2},
			members: []string{"berlin", "lima"}, unknown: []string{"conditions"},
		},
		"an earlier one of its name that picked nobody, before one whose picks were told before that it was made": {
			change: func(in *past.Input) {
				in.Spec.Created, in.Spec.UID = metav1.NewTime(minute(55)), "u2"
				in.Told = []api.Told{
					told(0, api.Audit{Reason: "Created", By: "anna", Generation: 1, Spec: json.RawMessage(`{"was":1}`)}),
					told(51, api.Audit{Reason: "Deleted", By: "anna"}),
					told(55, api.Audit{Reason: "MembersChanged", By: "scheduler", Picks: lost(0, "was evicted", "lima")}),
					told(55, api.Audit{Reason: "Created", Generation: 1}),
				}
			},
			at: 1, want: api.PastState{Existed: true, Generation: 1, Spec: json.RawMessage(`{"was":1}`)},
			unknown: []string{"conditions"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := story()
			in.At = minute(c.at)
			if c.change != nil {
				c.change(&in)
			}
			then := past.Of(in).Then
			require.Equal(t, c.members, members(then))
			require.Equal(t, c.unknown, unknown(then), "%+v", then.Unknown)
			c.want.At = metav1.NewTime(in.At)
			then.Members, then.Unknown, then.Told = nil, nil, nil
			require.Equal(t, c.want, *then)
		})
	}
}

// Whatever was picked and lost, the members of each time are those that were picked then, while events name them all.
func TestMembersOfATimeAreThoseThatWerePicked(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		in := story()
		in.Told = in.Told[:2]
		there := map[string]bool{}
		var want [][]string
		for n := range 20 {
			var came, went []string
			for _, m := range []string{"a", "b", "c", "d", "e", "f"} {
				if r.IntN(3) > 0 {
					continue
				}
				if there[m] = !there[m]; there[m] {
					came = append(came, m)
				} else {
					went = append(went, m)
					delete(there, m)
				}
			}
			p := &api.Picks{Count: len(there)}
			if len(came) > 0 {
				p.Gained = []api.PickChange{{Members: came, Total: len(came)}}
			}
			if len(went) > 0 {
				p.Lost = []api.PickChange{{Members: went, Total: len(went)}}
			}
			in.Told = append(in.Told, told(n+1, api.Audit{Reason: "MembersChanged", By: "scheduler", Picks: p}))
			want = append(want, sortedKeys(there))
		}
		in.Schedule.Bindings = nil
		for _, m := range sortedKeys(there) {
			in.Schedule.Bindings = append(in.Schedule.Bindings, api.Binding{Member: m})
		}
		for n := range want {
			in.At = minute(n + 1)
			then := past.Of(in).Then
			require.Equal(t, want[n], members(then), "seed %d, decision %d", seed, n)
			require.NotContains(t, unknown(then), "members")
		}
	}
}

func sortedKeys(m map[string]bool) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Why a member was picked is what the event says of all that were gained, else what it says of that one member.
func TestWhyAMemberWasPickedThen(t *testing.T) {
	reasons := func(in past.Input) map[string]string {
		in.At = minute(60)
		out := map[string]string{}
		for _, m := range past.Of(in).Then.Members {
			out[m.Member] = m.Reason
		}
		return out
	}
	in := story()
	require.Equal(t, map[string]string{"lima": "", "oslo": "oslo is best"}, reasons(in))
	in.Told[2].Picks.Gained[0].Reason, in.Told[12].Picks.Gained[0].Reason = "they fit", "it fits"
	require.Equal(t, map[string]string{"lima": "they fit", "oslo": "it fits"}, reasons(in))
}
