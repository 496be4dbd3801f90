package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/guard"
)

// guarded is a placement on members, of snapshots of so many objects, and what guards know beside it.
type guarded struct {
	in        Input
	snapshots map[int64]*api.Snapshot
	taken     map[string]int
	has       map[string]int
	approved  map[string]api.Loss
}

func newGuarded(members, objects int) *guarded {
	g := &guarded{snapshots: map[int64]*api.Snapshot{}, taken: map[string]int{}, has: map[string]int{}, approved: map[string]api.Loss{}}
	g.in = Input{Results: map[string]*api.PlacementResult{}, Members: map[string]MemberView{}, Now: start}
	p := &g.in.Placement
	p.Name, p.UID = "web", "u1"
	all := intstr.FromString("100%")
	p.Spec.Strategy.RollingUpdate = &api.RollingUpdate{MaxUnavailable: &all, MaxSurge: &all}
	g.in.Guard = &guard.Ground{
		Bounds:   guard.DefaultBounds(),
		Taken:    func(m string) int { return g.taken[m] },
		Has:      func(m string) int { return g.has[m] },
		Snapshot: func(index int64) *api.Snapshot { return g.snapshots[index] },
		Approved: func(m string, loss api.Loss) bool { return loss != (api.Loss{}) && g.approved[m] == loss },
	}
	g.cut(objects)
	g.bind(0, members)
	g.step()
	return g
}

// cut makes a snapshot of so many objects.
func (g *guarded) cut(objects int) {
	s := &api.Snapshot{UID: "u1", Index: 1}
	if g.in.Latest != nil {
		s.Index = g.in.Latest.Index + 1
	}
	s.Work = fmt.Sprintf("work-%d", s.Index)
	for i := range objects {
		s.Manifests = append(s.Manifests, api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: fmt.Sprintf("c%03d", i)}})
	}
	g.snapshots[s.Index], g.in.Latest = s, s
}

func member(i int) string { return fmt.Sprintf("m%03d", i) }

// bind picks the members of a range.
func (g *guarded) bind(from, to int) {
	g.in.Schedule = &api.Schedule{UID: "u1"}
	for i := from; i < to; i++ {
		g.in.Schedule.Bindings = append(g.in.Schedule.Bindings, api.Binding{Member: member(i)})
	}
}

// step decides once, and lets every member do at once what it was told.
func (g *guarded) step() Plan {
	p := Next(g.in)
	if p.Changed {
		g.in.Release = &p.Release
	}
	for _, e := range p.Release.Entries {
		what := "available"
		if e.Withdrawn {
			what = "withdrawn"
		}
		g.in.Results[e.Member] = resultOf(e, what, g.in.Now)
	}
	return p
}

func TestWithdrawalsThatAreHeld(t *testing.T) {
	const placementText = "WithdrawalHeld: 11 of 30 members would lose it, more than 30 % and more than 10: flotilla approve withdrawal placement/web"
	for _, c := range []struct {
		what             string
		members, objects int
		then             func(*guarded)
		withdraw         int
		held             string
	}{
		{"10 of 10 members", 10, 3, func(g *guarded) { g.bind(0, 0) }, 10, ""},
		{"11 of 30 members", 30, 3, func(g *guarded) { g.bind(11, 30) }, 0, placementText},
		{"11 of 37 members", 37, 3, func(g *guarded) { g.bind(11, 37) }, 11, ""},
		{"evicted", 30, 3, func(g *guarded) {
			g.bind(11, 30)
			for i := range 11 {
				g.in.Schedule.Evicted = append(g.in.Schedule.Evicted, member(i))
			}
		}, 11, ""},
		{"drained", 30, 3, func(g *guarded) {
			g.bind(11, 30)
			for i := range 11 {
				g.in.Schedule.Drained = append(g.in.Schedule.Drained, member(i))
			}
		}, 11, ""},
		{"deleted", 30, 3, func(g *guarded) { g.in.Placement.DeletionTimestamp = new(metav1.NewTime(start)) }, 30, ""},
		{"half of a member's objects", 1, 11, func(g *guarded) { g.has[member(0)] = 22; g.bind(0, 0) }, 0, "WithdrawalHeld: m000 would lose 11 of 22 objects, more than 30 % and more than 10: flotilla approve withdrawal m000"},
		{"few of a member's objects", 1, 11, func(g *guarded) { g.has[member(0)] = 40; g.bind(0, 0) }, 1, ""},
		{"with what others took of late", 1, 6, func(g *guarded) { g.has[member(0)], g.taken[member(0)] = 12, 6; g.bind(0, 0) }, 0, "WithdrawalHeld: m000 would lose 12 of 18 objects, more than 30 % and more than 10: flotilla approve withdrawal m000"},
		{"approved", 30, 3, func(g *guarded) {
			g.bind(11, 30)
			for i := range 11 {
				g.approved[member(i)] = api.Loss{Objects: 3, Of: 1, Whole: true}
			}
		}, 11, ""},
		{"approved as it was", 1, 11, func(g *guarded) {
			g.has[member(0)] = 22
			g.approved[member(0)] = api.Loss{Objects: 10, Of: 1, Whole: true}
			g.bind(0, 0)
		}, 0, "WithdrawalHeld: m000 would lose 11 of 22 objects, more than 30 % and more than 10: flotilla approve withdrawal m000"},
	} {
		t.Run(c.what, func(t *testing.T) {
			g := newGuarded(c.members, c.objects)
			c.then(g)
			p := g.step()
			require.Len(t, p.Withdraw, c.withdraw)
			for _, h := range p.Hold {
				require.Equal(t, c.held, h.Reason)
				require.True(t, h.Guarded)
				require.Equal(t, api.Loss{Objects: c.objects, Of: 1, Whole: true}, h.Loss)
			}
			require.Equal(t, c.held != "", len(p.Hold) > 0)
		})
	}
}

// Objects that the newest snapshot holds no more count as much as a whole placement, unless a person goes back to it; one that
// holds nothing any more takes the placement away.
func TestPruningIsHeld(t *testing.T) {
	g := newGuarded(2, 20)
	g.has[member(0)], g.has[member(1)] = 20, 100
	g.cut(5)
	p := g.step()
	require.Equal(t, []string{member(1)}, p.Advance, "15 of 100")
	require.Equal(t, []api.Held{{
		Member: member(0), Guarded: true, Loss: api.Loss{Objects: 15, Of: 1, To: 2},
		Reason: "WithdrawalHeld: m000 would lose 15 of 20 objects, more than 30 % and more than 10: flotilla approve withdrawal m000",
	}}, p.Hold)
	require.Equal(t, []api.Taken{{Member: member(1), UID: "u1", From: 1, To: 2, At: metav1.NewTime(start)}}, p.Release.Taken)
	require.Len(t, p.Release.Gone, 1)
	require.Len(t, p.Release.Gone[0].Objects, 15)
	require.Equal(t, "|ConfigMap/web/c005", p.Release.Gone[0].Objects[0])

	g.in.Latest.Undo = &api.Undo{Of: 1}
	require.Equal(t, []string{member(0)}, g.step().Advance, "a roll-back is no withdrawal")

	g = newGuarded(30, 1)
	g.cut(0)
	require.Empty(t, g.step().Advance, "nothing is left of it on 30 members")
}

// What is held stays so when what was taken of late does not count any more, and goes when it is not wanted any more.
func TestWhatIsHeldStaysHeld(t *testing.T) {
	g := newGuarded(2, 6)
	g.has[member(0)], g.taken[member(0)] = 12, 6
	g.bind(1, 2)
	require.Len(t, g.step().Hold, 1)
	g.taken[member(0)], g.in.Now = 0, start.Add(time.Hour)
	p := g.step()
	require.Empty(t, p.Withdraw)
	require.Equal(t, "WithdrawalHeld: what m000 would lose was held before, more than 30 % and more than 10: flotilla approve withdrawal placement/web", p.Hold[0].Reason)
	g.in.Frozen = "placements frozen by anna"
	require.Equal(t, "waits: placements frozen by anna", g.step().Hold[0].Reason)
	g.in.Frozen = ""
	require.Empty(t, g.step().Withdraw, "a freeze lets nothing go that was held")
	g.bind(0, 2)
	require.Empty(t, g.step().Hold)
	g.bind(1, 2)
	require.Equal(t, []string{member(0)}, g.step().Withdraw)
}

// A member that is frozen keeps what it has, the others go on.
func TestAFrozenMember(t *testing.T) {
	g := newGuarded(3, 1)
	g.in.Members[member(1)] = MemberView{Frozen: "member m001 frozen by anna"}
	g.in.Placement.Spec.Strategy.ApplyStrategy = &api.ApplyStrategy{Type: "ServerSideApply"}
	g.cut(1)
	p := g.step()
	require.Equal(t, []string{member(0), member(2)}, p.Advance)
	require.Equal(t, []api.Held{{Member: member(1), Reason: "waits: member m001 frozen by anna", Guarded: true}}, p.Hold)
	require.Nil(t, p.Release.Entries[1].Apply)
	g.bind(0, 0)
	p = g.step()
	require.Equal(t, []string{member(0), member(2)}, p.Withdraw)
	require.Equal(t, "withdrawal waits: member m001 frozen by anna", p.Hold[0].Reason)
}

// Whatever is wanted, one thing after another and however quickly: within ten minutes no placement is taken from more than 30 %
// and more than 10 of its members, and no member loses more than 30 % and more than 10 of its objects, unless somebody approves
// exactly that.
func TestNoSumPassesTheBounds(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, seed))
		members, objects := 5+rng.IntN(40), 1+rng.IntN(20)
		g := newGuarded(members, objects)
		lost := map[string]map[string]time.Time{} // by member and object, when
		held := func(member string) (names []string) {
			if e := entryOf(g.in.Release, member); e != nil && !e.Withdrawn {
				names = guard.Keys(g.snapshots[e.Snapshot].Manifests)
			}
			return names
		}
		recent := func(member string) (n int) {
			for _, at := range lost[member] {
				if g.in.Now.Sub(at) < guard.Window {
					n++
				}
			}
			return n
		}
		g.in.Guard.Has = func(member string) int { return len(held(member)) }
		for range 40 {
			g.in.Now = g.in.Now.Add(time.Duration(rng.IntN(240)) * time.Second)
			from := rng.IntN(members)
			g.bind(from, from+rng.IntN(members-from+1))
			if rng.IntN(4) == 0 {
				g.cut(rng.IntN(objects + 1))
			}
			before := map[string][]string{}
			for i := range members {
				before[member(i)] = held(member(i))
			}
			g.step()
			for i := range members {
				m := member(i)
				now, gone := held(m), lost[m]
				if gone == nil {
					gone = map[string]time.Time{}
					lost[m] = gone
				}
				taken := false
				for _, name := range before[m] {
					if !slices.Contains(now, name) {
						gone[name], taken = g.in.Now, true
					}
				}
				for _, name := range now {
					delete(gone, name)
				}
				require.False(t, taken && g.in.Guard.Bounds.Exceeded(recent(m), recent(m)+len(now)), "seed %d: %s lost %d, has %d", seed, m, recent(m), len(now))
			}
		}
	}
}

// What is taken and given back, again and again, sums up to nothing, also while members have not come to hold it again; and a
// record of it does not grow.
func TestWhatIsGivenBackIsNotLost(t *testing.T) {
	g := newGuarded(1, 8)
	g.has[member(0)] = 8
	for i := range 60 {
		g.cut([]int{2, 8}[i%2])
		require.Empty(t, g.step().Hold)
		if i%3 > 0 {
			delete(g.in.Results, member(0))
		}
		require.LessOrEqual(t, len(g.in.Release.Taken), 2)
		require.LessOrEqual(t, len(g.in.Release.Gone), 2)
		for index := range g.snapshots { // history does not go on
			if index < g.in.Latest.Index {
				delete(g.snapshots, index)
			}
		}
	}
}

// A step that takes some objects away and gives back others comes to what is missing after it.
func TestARevertIsNoLoss(t *testing.T) {
	g := newGuarded(1, 0)
	named := func(names ...string) {
		g.cut(len(names))
		for i := range names {
			g.in.Latest.Manifests[i].Name = names[i]
		}
	}
	old, renamed := []string{"a", "b", "c", "d", "e", "f", "g", "h"}, []string{"i", "j", "k", "l", "m", "n", "o", "p"}
	g.has[member(0)] = 8
	for _, names := range [][]string{old, renamed, old, renamed} {
		named(names...)
		require.Empty(t, g.step().Hold)
	}
	named("q", "r", "s", "t", "u", "v", "w", "x")
	require.Equal(t, "WithdrawalHeld: m000 would lose 16 of 16 objects, more than 30 % and more than 10: flotilla approve withdrawal m000", g.step().Hold[0].Reason)
}

// A placement that is made again begins to count its snapshots anew: what was taken of the former one stands for nothing of it.
func TestAPlacementThatIsMadeAgainLosesItsOwn(t *testing.T) {
	g := newGuarded(2, 11)
	g.has[member(0)], g.has[member(1)] = 30, 30
	former := api.Gone{UID: "u0", From: 1, To: 2, Objects: []string{"|ConfigMap/web/former"}}
	g.in.Release.Taken = []api.Taken{{Member: member(0), UID: "u0", From: 1, To: 2, At: metav1.NewTime(start)}}
	g.in.Release.Gone = []api.Gone{former}
	g.cut(10)
	require.Empty(t, g.step().Hold)
	require.Equal(t, []api.Gone{former, {UID: "u1", From: 1, To: 2, Objects: []string{"|ConfigMap/web/c010"}}}, g.in.Release.Gone)
	g.cut(0)
	held := g.step().Hold
	require.Len(t, held, 2)
	require.Contains(t, held[0].Reason, "m000 would lose 12 of 32 objects")
	require.Contains(t, held[1].Reason, "m001 would lose 11 of 31 objects")
}

// Members that go back from a snapshot whose checks failed lose what they lose; what is to leave members besides is held as
// ever, and a frozen member does not go back.
func TestGuardsWhileMembersGoBack(t *testing.T) {
	g := newGuarded(30, 20)
	g.in.Checks.Name = "smoke"
	g.in.Checks.Record = &api.CheckRecord{UID: "u1", CheckStatus: api.CheckStatus{Snapshot: 2, Phase: api.CheckRollingBack, Refused: &api.CheckRefusal{Snapshot: 2}}}
	g.in.Release.Entries[29].Snapshot, g.in.Release.Entries[29].Earlier = 2, &api.Earlier{Snapshot: 1, Work: "work-1"}
	g.in.Release.Entries[28].Snapshot, g.in.Release.Entries[28].Earlier = 2, &api.Earlier{Snapshot: 1, Work: "work-1"}
	g.in.Members[member(28)] = MemberView{Frozen: "member m028 frozen by anna"}
	g.cut(40)
	g.bind(11, 30)
	p := g.step()
	require.Equal(t, []string{member(29)}, p.Back)
	require.Empty(t, p.Withdraw)
	reasons := map[string]int{}
	for _, h := range p.Hold {
		if h.Guarded {
			reasons[h.Reason]++
		}
	}
	require.Equal(t, map[string]int{
		"waits to go back: member m028 frozen by anna": 1,
		"WithdrawalHeld: 11 of 30 members would lose it, more than 30 % and more than 10: flotilla approve withdrawal placement/web": 11,
	}, reasons)
}
