package whatif_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/core/whatif"
)

// seeds is how many random fleets each property is tried on.
const seeds = 600

// room plays the scheduler for one placement: it keeps the record, and decides from it until that stays the same. What a
// decision withdraws is confirmed before the next one.
type room struct {
	placement api.Placement
	record    *api.Schedule
}

func (r *room) follow(t *testing.T, fleet *schedule.Fleet) {
	t.Helper()
	for range 20 {
		in := r.subject().Input(fleet, sim.Now, schedule.Thresholds{})
		decided := schedule.Schedule(in)
		next := decided.Schedule(in)
		same := r.record != nil && slices.EqualFunc(r.record.Bindings, next.Bindings, func(a, b api.Binding) bool {
			return a.Member == b.Member && a.Policy == b.Policy && a.Waiting == b.Waiting
		}) && slices.Equal(r.record.Evicted, next.Evicted)
		if r.record = &next; same {
			return
		}
	}
	t.Fatal("the scheduler does not come to rest")
}

// subject is what the door would gather.
func (r *room) subject() *plan.Subject {
	s := &plan.Subject{Placement: r.placement}
	if r.record != nil {
		s.Existing, s.Drained = plan.Existing(r.record, nil, "u1"), r.record.Drained
		if r.record.Policy == schedule.PolicyDigest(r.placement.Spec.Policy) {
			s.Evicted = r.record.Evicted
		}
	}
	return s
}

func (r *room) members() []string {
	var names []string
	for _, b := range r.record.Bindings {
		names = append(names, b.Member)
	}
	return names
}

// randomRoom is a placement with bindings that were made under this policy or another one, or of none, evictions among them.
func randomRoom(s *sim.Source, members []api.Member) *room {
	r := &room{placement: api.Placement{
		TypeMeta: metav1.TypeMeta{Kind: api.KindClusterResourcePlacement}, ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u1", Annotations: map[string]string{}},
	}}
	r.placement.Spec.Policy = sim.Policy(s, members)
	if s.Chance(3) {
		r.placement.Annotations[api.AnnotationAllowEvicted] = "true"
	}
	if s.Chance(5) {
		r.placement.Annotations[api.AnnotationFailoverAfter] = "1m"
	}
	digest := schedule.PolicyDigest(r.placement.Spec.Policy)
	if s.Chance(3) {
		return r
	}
	r.record = &api.Schedule{UID: "u1", Policy: sim.Pick(s, digest, digest, digest, "older")}
	for i := range members {
		if s.Chance(3) {
			affinity, spread := int32(s.Below(5)-2), int32(s.Below(3)-1)
			r.record.Bindings = append(r.record.Bindings, api.Binding{
				Member: members[i].Name, Policy: sim.Pick(s, digest, digest, "older"), AffinityScore: &affinity, SpreadScore: &spread,
			})
		} else if s.Chance(6) {
			r.record.Evicted = append(r.record.Evicted, members[i].Name)
		}
	}
	return r
}

// TestWithoutIsWhatHappens compares what is told of members that leave with what becomes of placements when they do: first they
// are leaving, then gone, and after each step the scheduler decides until nothing changes.
func TestWithoutIsWhatHappens(t *testing.T) {
	moved, unfilled := 0, 0
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := sim.NewSource(seed)
			members := sim.Members(s, 1+s.Below(30))
			r := randomRoom(s, members)
			if s.Chance(2) { // some placements stand still, others are under way
				r.follow(t, schedule.NewFleet(members...))
			}
			var going []string
			for i := range members {
				if s.Chance(4) {
					going = append(going, members[i].Name)
				}
			}
			told := ask(t, members, r.subject(), going...)

			r.follow(t, schedule.NewFleet(members...))
			before := r.members()
			r.follow(t, schedule.NewFleet(leaving(members, going)...))
			r.follow(t, schedule.NewFleet(rest(members, going)...))
			after := r.members()

			var gains, losses []string
			if len(told.Placements) == 1 {
				p := &told.Placements[0]
				for _, g := range p.Gains {
					gains = append(gains, g.Member)
				}
				for _, l := range p.Losses {
					losses = append(losses, l.Member)
					require.NotEmpty(t, l.Reason)
				}
				require.Equal(t, r.record.Want, p.Wanted)
				if p.Unfilled.After > 0 {
					unfilled++
					require.NotEqual(t, p.Fill == nil, p.NoFill == "", "a slot is filled by something, or it is said why by nothing")
				}
			}
			require.Equal(t, without(after, before), gains)
			require.Equal(t, without(before, after), losses)
			require.Equal(t, len(gains), told.Totals.Gains)
			moved += len(gains)
		})
	}
	require.Greater(t, moved, 100, "members were picked in the place of others")
	require.Greater(t, unfilled, 20, "slots stayed empty")
}

// ask is the answer about one placement.
func ask(t *testing.T, members []api.Member, s *plan.Subject, going ...string) whatif.Answer {
	t.Helper()
	q := whatif.Question{Without: going}
	in := whatif.Input{Members: members, Subjects: []whatif.Subject{{Subject: *s, Known: true}}, Now: sim.Now}
	var err error
	in.Without, err = q.Leaving(in.Joined(), func(string) string { return api.WhenLeavingRetain })
	require.NoError(t, err)
	return whatif.Build(in)
}

func leaving(members []api.Member, going []string) []api.Member {
	out := slices.Clone(members)
	for i := range out {
		out[i].Leaving = out[i].Leaving || slices.Contains(going, out[i].Name)
	}
	return out
}

func rest(members []api.Member, going []string) []api.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m api.Member) bool { return slices.Contains(going, m.Name) })
}

func without(names, others []string) []string {
	var out []string
	for _, name := range names {
		if !slices.Contains(others, name) {
			out = append(out, name)
		}
	}
	return out
}
