package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
)

// revolt disturbs more than rollouts are: placements go and come again, members leave, releases get lost.
func (s *sim) revolt() {
	s.disturb()
	m := s.members[s.rng.IntN(len(s.members))].name
	switch s.rng.IntN(30) {
	case 0:
		s.in.Placement.UID = types.UID([]string{"u1", "u2"}[s.rng.IntN(2)])
	case 1:
		s.in.Placement.DeletionTimestamp = []*metav1.Time{nil, {Time: s.in.Now}}[s.rng.IntN(2)]
	case 2:
		s.in.Members[m] = []MemberView{{Gone: true}, {State: api.MemberReady}, {State: api.MemberLeaving, Leaving: true}}[s.rng.IntN(3)]
	case 3:
		if r := s.in.Release; r != nil { // the last writes are gone
			r.Step = max(0, r.Step-2)
			for i := range r.Entries {
				r.Entries[i].Generation = min(r.Entries[i].Generation, r.Step)
			}
		}
	case 4:
		s.in.Latest.Error = []string{"", "no such kind"}[s.rng.IntN(2)]
	case 5:
		s.in.Schedule.Bindings[0].Waiting = !s.in.Schedule.Bindings[0].Waiting
	}
}

// nonsense is what a member may say; nil for nothing any more.
func (s *sim) nonsense(member string) *api.PlacementResult {
	e := api.ReleaseEntry{Member: member, UID: "u1", Generation: 1, Snapshot: 1}
	if own := entryOf(s.in.Release, member); own != nil {
		e = *own
	}
	kinds := []string{"available", "untrackable", "unavailable", "applying", "failed", "withdrawn"}
	switch s.rng.IntN(12) {
	case 0:
		return nil
	case 1:
		e.UID = "u0"
	case 2:
		e.Generation += int64(s.rng.IntN(4)) - 1
	case 3:
		e.Generation = 1 << 50
	}
	return resultOf(e, kinds[s.rng.IntN(len(kinds))], s.in.Now)
}

// Whatever members say, in whatever order: what stirs nothing makes no other decision.
func TestWhatStirsNothingChangesNothing(t *testing.T) {
	stirred, still := 0, 0
	for seed := range uint64(150) {
		s := newSim(seed)
		for step := range 60 {
			s.revolt()
			s.act()
			s.in.Now = s.in.Now.Add(time.Duration(s.rng.IntN(40)) * time.Second)
			plan, standing := Decide(s.in, s.in.known)
			require.Equal(t, standing == nil, plan.Changed)
			if plan.Changed {
				s.in.Release = &plan.Release
				continue
			}
			for range 10 {
				member := s.members[s.rng.IntN(len(s.members))].name
				result := s.nonsense(member)
				stirs := standing.Stirs(member, result, s.in.Now)
				if s.in.Results[member] = result; result == nil {
					delete(s.in.Results, member)
				}
				if stirs {
					stirred++
					break
				}
				still++
				again := Next(s.in)
				at := fmt.Sprintf("seed %d, step %d: %s said %+v: %s", seed, step, member, result, again)
				require.False(t, again.Changed, at)
				require.Equal(t, plan.Hold, again.Hold, at)
				if !standing.idle {
					require.Equal(t, plan.Recheck, again.Recheck, at)
				}
			}
		}
	}
	require.Greater(t, still, 2*stirred/3, "most of it stirs")
}

// While nobody has to move, no answer to what is released stirs anything: as when a placement is new on all.
func TestAnswersStirNothingWhereNobodyWaits(t *testing.T) {
	s := newSim(3)
	first := Next(s.in)
	s.in.Release = &first.Release
	plan, standing := Decide(s.in, s.in.known)
	require.False(t, plan.Changed)
	for _, e := range first.Release.Entries {
		for _, what := range []string{"applying", "unavailable", "available", "failed"} {
			require.False(t, standing.Stirs(e.Member, resultOf(e, what, start), start), what)
		}
	}
	s.publish("")
	second := Next(s.in)
	s.in.Release = &second.Release
	_, standing = Decide(s.in, s.in.known)
	e := second.Release.Entries[0]
	require.False(t, standing.Stirs(e.Member, resultOf(e, "applying", start), start))
	require.Equal(t, len(second.Hold) > 0, standing.Stirs(e.Member, resultOf(e, "available", start), start), "others wait for it")
	require.NotEmpty(t, second.Hold)
	require.False(t, standing.Stirs("nobody", resultOf(e, "available", start), start))
}
