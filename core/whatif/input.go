package whatif

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/schedule"
)

// Input is everything an answer depends on.
type Input struct {
	// Members are the fleet as it is.
	Members []api.Member
	// Added are members that join, or take the place of those of their name; Joined makes them.
	Added []api.Member
	// Without are members that leave; Leaving finds them.
	Without []Leaver
	// Subjects are the placements, at most one for each key.
	Subjects []Subject
	// Runs are update runs and staged runs, under way or not.
	Runs       []api.UpdateRunStatus
	Now        time.Time
	Thresholds schedule.Thresholds
	// MaxRows is how many gains and losses the answer may list in all, 0 for any number.
	MaxRows int
	Notes   []string
}

// Subject is one placement with what is known of it now.
type Subject struct {
	plan.Subject
	// Next is the placement as a document has it, nil where none does. Without bindings and Known it is new.
	Next *api.Placement
	// Known says that Placement is there already.
	Known bool
}

// key is that of the placement.
func (s *Subject) key() string {
	if s.Next != nil {
		return s.Next.Key()
	}
	return s.Placement.Key()
}

// Leaver is a member that leaves.
type Leaver struct {
	Member string `json:"member"`
	// WhenLeaving is Retain, what is placed on the member stays there, or Delete, it is taken off.
	WhenLeaving string `json:"whenLeaving"`
	// Placements is how many placements it has.
	Placements int `json:"placements"`
}

// NoStatus is told of a member that is added without a status.
func NoStatus(member string) string {
	return "MemberCluster/" + member + ": without a status nothing is known of its properties: flotilla get member NAME -o yaml shows one of a member like it"
}

// Joined is the fleet with what is added.
func (in *Input) Joined() []api.Member {
	all := map[string]api.Member{}
	for _, members := range [][]api.Member{in.Members, in.Added} {
		for i := range members {
			all[members[i].Name] = members[i]
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b api.Member) int { return cmp.Compare(a.Name, b.Name) })
}

// Joined is a member as it would be once it is admitted: connected, joined, healthy, and heard of at that moment.
// What the document says against that stays.
func Joined(mc *api.MemberCluster, now time.Time) api.Member {
	m := api.MemberOf(mc)
	m.HasAgent, m.LastHeartbeat = true, now
	if m.Joined == "" {
		m.Joined = "True"
	}
	if m.Healthy == "" {
		m.Healthy = "True"
	}
	return m
}
