package eviction

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/guard"
)

// Input is what is known of a placement. Nothing in it is changed.
type Input struct {
	// Placement is nil where there is none.
	Placement *api.Placement
	// Schedule and Release are nil while they do not exist; those of another uid count for nothing.
	Schedule *api.Schedule
	Release  *api.Release
	// Budget is nil where the placement has none.
	Budget *api.PlacementDisruptionBudgetSpec
	Known  Source
	// Freezes let nothing go.
	Freezes guard.Freezes
}

// Source is what is known of a member.
type Source func(member string) Known

// Known is what is known of a member, beside its binding.
type Known struct {
	Result *api.PlacementResult // the newest about the placement, nil when there is none
	Silent bool                 // nobody hears of it
	Holder string               // what else has a hold of it, "run web-1"; empty for nothing
}

// state is how far a binding has come.
type state int

const (
	scheduled state = iota // nothing of it is on the member yet
	bound
	leaving // the member gives it up
)

// binding is one member's place in the book.
type binding struct {
	member    string
	state     state
	available bool
	failed    bool   // or it reports differences alone: it costs nothing to evict it
	lacks     string // what keeps it from being available
	silent    bool   // nobody hears of the member
	moves     bool   // what is released is on its way to the member, or off it
	since     metav1.Time
}

// What keeps a binding from being available.
const (
	lacksPlacement = "does not hold it yet"
	lacksLeaving   = "gives it up"
	lacksHeartbeat = "no heartbeat"
	lacksChange    = "a change is on its way"
	lacksWorkloads = "not available"
)

// Book is how all bindings of a placement stand.
type Book struct {
	in       Input
	bindings []binding // sorted by member
	lost     int       // members that were evicted or drained, gave the placement up, and were not replaced
}

// Open reads how the bindings of a placement stand.
func Open(in Input) *Book {
	b := &Book{in: in}
	if in.Placement == nil {
		return b
	}
	entries := b.entries()
	away := 0
	if s := in.Schedule; s != nil && s.UID == string(in.Placement.UID) {
		away = len(s.Evicted) + len(s.Drained)
		for i := range s.Bindings {
			member := s.Bindings[i].Member
			b.bindings = append(b.bindings, b.stand(member, entries[member], true))
			delete(entries, member)
		}
	}
	for member, entry := range entries {
		b.bindings = append(b.bindings, b.stand(member, entry, false))
	}
	slices.SortFunc(b.bindings, func(a, c binding) int { return strings.Compare(a.member, c.member) })
	b.lost = min(max(0, b.wanted()-len(b.bindings)), away)
	return b
}

// entries are those of the release by member.
func (b *Book) entries() map[string]*api.ReleaseEntry {
	of := map[string]*api.ReleaseEntry{}
	if b.in.Release == nil {
		return of
	}
	for i := range b.in.Release.Entries {
		if e := &b.in.Release.Entries[i]; e.UID == string(b.in.Placement.UID) {
			of[e.Member] = e
		}
	}
	return of
}

// wanted is the number of members of a PickN, 0 of others: nobody says how many those want.
func (b *Book) wanted() int {
	if p := b.in.Placement.Spec.Policy; p != nil && p.Type() == api.PickN && p.NumberOfClusters != nil {
		return int(*p.NumberOfClusters)
	}
	return 0
}

// stand reads one binding; entry is nil where nothing is released.
func (b *Book) stand(member string, entry *api.ReleaseEntry, picked bool) binding {
	one := binding{member: member, state: scheduled, lacks: lacksPlacement}
	if entry == nil {
		return one
	}
	known := b.in.Known(member)
	one.silent, one.since = known.Silent, entry.Since
	switch {
	case entry.Withdrawn && picked:
		return one
	case entry.Withdrawn, !picked && b.taken(member):
		one.take()
		return one
	}
	result := known.Result
	if result != nil && (result.UID != entry.UID || result.Generation != entry.Generation) {
		result = nil
	}
	one.state, one.lacks = bound, lacks(result, &known)
	one.available = one.lacks == ""
	one.failed = !one.available && (result != nil && failed(result) || b.overridden(member))
	one.moves = result == nil || !one.failed && result.Available != "True"
	return one
}

// taken says that a member was evicted or drained: it gives the placement up as soon as it is told to.
func (b *Book) taken(member string) bool {
	s := b.in.Schedule
	return s != nil && s.UID == string(b.in.Placement.UID) && (slices.Contains(s.Evicted, member) || slices.Contains(s.Drained, member))
}

// failed says that what a result tells leaves nothing to protect.
func failed(result *api.PlacementResult) bool {
	return result.Applied == "False" || result.Available == "False" || result.DiffReported == "True"
}

// overridden says that the newest content cannot be made for the member.
func (b *Book) overridden(member string) bool {
	return slices.ContainsFunc(b.in.Release.Held, func(h api.Held) bool { return h.Member == member && h.Overridden })
}

// lacks says what keeps a member that holds the placement from being available.
func lacks(result *api.PlacementResult, known *Known) string {
	switch {
	case known.Silent:
		return lacksHeartbeat
	case result == nil:
		return lacksChange
	case result.Available != "True" || failed(result):
		return lacksWorkloads
	}
	return known.Holder
}

// find is the binding to a member, nil when there is none.
func (b *Book) find(member string) *binding {
	at, found := slices.BinarySearchFunc(b.bindings, member, func(one binding, name string) int { return strings.Compare(one.member, name) })
	if !found {
		return nil
	}
	return &b.bindings[at]
}

// available counts the members that are.
func (b *Book) available() (n int) {
	for i := range b.bindings {
		if b.bindings[i].available {
			n++
		}
	}
	return n
}

// take notes that a binding goes.
func (one *binding) take() {
	one.state, one.available, one.lacks, one.moves = leaving, false, lacksLeaving, true
}
