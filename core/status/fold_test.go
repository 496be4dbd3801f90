package status

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
)

// upheaval is a world in which anything may happen, and a fold of it that hears of what happens.
type upheaval struct {
	*world
	rng     *rand.Rand
	fold    *Fold
	members []string
}

func newUpheaval(seed uint64) *upheaval {
	u := &upheaval{world: newWorld(), rng: rand.New(rand.NewPCG(seed, seed))}
	for i := range 2 + u.rng.IntN(6) {
		u.members = append(u.members, fmt.Sprintf("m%d", i))
	}
	return u
}

func (u *upheaval) anyMember() string { return u.members[u.rng.IntN(len(u.members))] }

func (u *upheaval) someMembers() []string {
	some := slices.Clone(u.members)
	u.rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some[:1+u.rng.IntN(len(some))]
}

func (u *upheaval) known(member string) (*api.PlacementResult, Member) {
	return u.in.Results[member], u.in.Members[member]
}

// happen changes one thing and folds it in: what is about a member as news of it, all else anew. A hub that starts
// has no fold; a status that was not written leaves the one before.
func (u *upheaval) happen(t *testing.T) {
	switch u.rng.IntN(10) {
	case 0, 1:
		u.fold = nil
		u.rebuild(t)
	case 2:
		u.fold = nil // the hub started anew
	case 3:
		u.tick(t, []string{[]string{"1s", "20s", "61s", "11m"}[u.rng.IntN(4)]})
	case 4:
		u.in.Previous = nil
	case 5:
		u.hear(func(member string) {
			u.member(t, []string{member, string([]api.MemberState{api.MemberReady, api.MemberUnknown, api.MemberNotReady}[u.rng.IntN(3)])})
		})
	default:
		u.hear(func(member string) { u.answer(t, member) })
	}
}

func (u *upheaval) hear(news func(member string)) {
	member := u.anyMember()
	news(member)
	if u.fold != nil {
		result, state := u.known(member)
		u.fold.Hear(member, result, state)
	}
}

// answer has a member say anything of what is released to it; also of what was, or of another placement.
func (u *upheaval) answer(t *testing.T, member string) {
	if u.in.Release == nil || u.entry(member) == nil {
		return
	}
	kinds := []string{"available", "untrackable", "unavailable", "failed", "drifted", "corrected", "crashing", "applying", "withdrawn", "gone"}
	kind := kinds[u.rng.IntN(len(kinds))]
	if kind == "gone" {
		delete(u.in.Results, member)
		return
	}
	u.report(t, []string{kind, member})
	r := u.in.Results[member]
	if kind == "untrackable" && u.rng.IntN(2) == 0 {
		r.Changed = metav1.NewTime(u.in.Now.Add(time.Minute)) // its clock is ahead
	}
	switch u.rng.IntN(8) {
	case 0:
		r.Generation--
	case 1:
		r.UID = "u0"
	case 2:
		r.Applied, r.Available, r.DiffReported = "perhaps", "maybe", "True"
	case 3:
		r.Corrected = []api.Correction{{Fields: "/", Fought: true}}
	case 4:
		r.DifferingTotal = 1
	}
}

func (u *upheaval) rebuild(t *testing.T) {
	switch u.rng.IntN(8) {
	case 0:
		index := int64(1)
		if u.in.Latest != nil {
			index = u.in.Latest.Index + 1
		}
		u.snapshot(t, []string{strconv.FormatInt(index, 10)})
	case 1:
		u.generation(t, []string{strconv.FormatInt(u.in.Placement.Generation+1, 10)})
	case 2, 3:
		want := []string{"all", "2", "9"}[u.rng.IntN(3)]
		members := u.someMembers()
		if u.rng.IntN(3) == 0 {
			members[0] += "?"
		}
		u.schedule(t, append([]string{want}, members...))
		if want == "9" {
			u.unpicked(t, []string{"far", "is", "tainted"})
		}
	case 4, 5:
		u.release(t, append([]string{[]string{"1", "2", "3", "withdrawn"}[u.rng.IntN(4)]}, u.someMembers()...))
		if u.in.Latest != nil && u.rng.IntN(2) == 0 {
			u.release(t, append([]string{strconv.FormatInt(u.in.Latest.Index, 10)}, u.someMembers()...))
		}
		u.hold(t, []string{u.anyMember(), "waits"})
	case 6:
		u.in.Placement.UID = []types.UID{"u1", "u1", "u1", "u2"}[u.rng.IntN(4)] // deleted, and made again
	case 7:
		u.in.Placement.Spec.Strategy.ApplyStrategy = []*api.ApplyStrategy{nil, {Type: api.ApplyReportDiff}}[u.rng.IntN(2)]
	}
}

// Whatever happens in whatever order, with restarts, statuses that get lost and members that tell nonsense: a fold
// that heard of it member by member says what Follow says of all of it.
func TestAFoldSaysWhatFollowSays(t *testing.T) {
	for seed := range uint64(120) {
		u := newUpheaval(seed)
		for step := range 80 {
			u.happen(t)
			if u.fold == nil {
				u.fold = NewFold(u.in, u.known)
			}
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			got, again := u.fold.Follow(u.in.Previous, u.in.JudgeFrom, u.in.Now)
			want, wantAgain := Follow(u.in)
			require.Equal(t, encoded(t, want), encoded(t, got), at)
			require.Equal(t, wantAgain, again, at)
			brief := u.fold.Show(u.in.Previous, u.in.JudgeFrom, u.in.Now, true)
			require.Empty(t, brief.PlacementStatuses, at)
			brief.PlacementStatuses = got.PlacementStatuses
			require.Equal(t, got, brief, at)
			require.Equal(t, membersOf(u.in), u.fold.Show(u.in.Previous, u.in.JudgeFrom, u.in.Now, false).PlacementStatuses, at)
			require.Equal(t, newEvaluation(u.in).tally, u.fold.e.tally, at)
			requireWhole(t, &u.fold.e, &got, at)
			if u.rng.IntN(3) > 0 {
				u.in.Previous = &got
			}
		}
	}
}

func encoded(t *testing.T, st api.PlacementStatus) string {
	t.Helper()
	text, err := json.Marshal(st)
	require.NoError(t, err)
	return string(text)
}

// requireWhole counts what the tally counts by looking at the entries of all members.
func requireWhole(t *testing.T, e *evaluation, st *api.PlacementStatus, at string) {
	t.Helper()
	var trouble []api.PerMemberStatus
	for _, row := range e.entries() {
		for _, c := range row.Conditions {
			if c.Status != metav1.ConditionTrue {
				trouble = append(trouble, row)
			}
		}
	}
	require.Equal(t, trouble, st.PlacementStatuses, at)
	pending := 0
	for i := range e.views {
		v := &e.views[i]
		chain := e.chain(v)
		require.Equal(t, len(chain)-1, v.place, at)
		require.Equal(t, chain[v.place].status, v.status, at)
		if v.pending() {
			pending++
		}
	}
	require.Equal(t, pending, e.tally[isPending], at)
}

// What is settled is written at once; what is on its way is waited for.
func TestAFoldIsSettledOnceNothingIsOnItsWay(t *testing.T) {
	released := func(t *testing.T) *world {
		t.Helper()
		w := newWorld()
		w.snapshot(t, []string{"1"})
		w.schedule(t, []string{"all", "berlin", "lima"})
		w.release(t, []string{"1", "berlin", "lima"})
		w.report(t, []string{"available", "berlin", "lima"})
		return w
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *world)
		want   bool
	}{
		"all have it":                    {func(*testing.T, *world) {}, true},
		"no schedule yet":                {func(_ *testing.T, w *world) { w.in.Schedule = nil }, false},
		"a schedule of an older spec":    {func(_ *testing.T, w *world) { w.in.Placement.Generation++ }, false},
		"nothing selected yet":           {func(_ *testing.T, w *world) { w.in.Latest = nil }, false},
		"one has not said":               {func(_ *testing.T, w *world) { delete(w.in.Results, "lima") }, false},
		"another snapshot is on its way": {func(t *testing.T, w *world) { w.snapshot(t, []string{"2"}) }, false},
		"one cannot apply it":            {func(t *testing.T, w *world) { w.report(t, []string{"failed", "lima"}) }, true},
		"one is silent": {func(t *testing.T, w *world) {
			delete(w.in.Results, "lima")
			w.member(t, []string{"lima", string(api.MemberUnknown)})
		}, true},
		"one gives it up": {func(t *testing.T, w *world) {
			w.schedule(t, []string{"all", "berlin"})
			w.release(t, []string{"withdrawn", "lima"})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := released(t)
			c.change(t, w)
			fold := NewFold(w.in, func(member string) (*api.PlacementResult, Member) { return w.in.Results[member], w.in.Members[member] })
			require.Equal(t, c.want, fold.Settled(w.in.Now))
		})
	}
}

// Where nothing is to be rolled out, there is no rollout that could be late.
func TestARolloutIsFollowedOnlyWhereSomethingIsToBeRolledOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testing.T, *world)
		want   bool
	}{
		"a snapshot and members":     {func(*testing.T, *world) {}, true},
		"by staged runs":             {func(_ *testing.T, w *world) { w.in.Placement.Spec.Strategy.Type = api.StrategyExternal }, false},
		"no schedule":                {func(_ *testing.T, w *world) { w.in.Schedule = nil }, false},
		"no snapshot":                {func(_ *testing.T, w *world) { w.in.Latest = nil }, false},
		"neither":                    {func(_ *testing.T, w *world) { w.in.Schedule, w.in.Latest = nil, nil }, false},
		"selectors that are refused": {func(t *testing.T, w *world) { w.snapshot(t, []string{"2", "error", "no"}) }, false},
		"a placement that goes": {func(_ *testing.T, w *world) {
			w.in.Placement.DeletionTimestamp = new(metav1.NewTime(start))
		}, false},
		"nobody was picked": {func(t *testing.T, w *world) { w.schedule(t, []string{"all"}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.snapshot(t, []string{"1"})
			w.schedule(t, []string{"all", "berlin"})
			w.release(t, []string{"1", "berlin"})
			c.change(t, w)
			st, recheck := Follow(w.in)
			require.Equal(t, c.want, st.Rollout != nil, "%+v", st.Rollout)
			require.Equal(t, c.want, !recheck.IsZero(), "only what has a deadline is looked at again by time alone")
		})
	}
}
