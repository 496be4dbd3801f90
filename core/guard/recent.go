package guard

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"flotilla/core/api"
)

// Recent answers what one release took away from members that counts at a time: of late, or not confirmed, and not given back.
// It is of one goroutine.
type Recent struct {
	release *api.Release
	known   Known
	now     time.Time

	gone  map[pair]int               // where in release.Gone
	holds map[int64]map[string]bool  // by snapshot, what it holds
	sets  map[string]map[string]bool // by signature, what was taken
	sums  map[string]int
}

// Known is what Recent goes by beside the release.
type Known struct {
	// Snapshot finds one of the placement, nil where it is not kept any more.
	Snapshot func(index int64) *api.Snapshot
	// Applied says that a member holds what an entry gives it.
	Applied func(*api.ReleaseEntry) bool
}

// pair is what one snapshot of a placement holds and another does not.
type pair struct {
	uid      string
	from, to int64
}

// RecentOf looks at a release, of which there may be none.
func RecentOf(release *api.Release, known Known, now time.Time) *Recent {
	if release == nil {
		release = &api.Release{}
	}
	r := &Recent{release: release, known: known, now: now}
	if len(release.Taken) == 0 {
		return r
	}
	r.gone = make(map[pair]int, len(release.Gone))
	for i := range release.Gone {
		g := &release.Gone[i]
		r.gone[pair{g.UID, g.From, g.To}] = i
	}
	r.holds, r.sets, r.sums = map[int64]map[string]bool{}, map[string]map[string]bool{}, map[string]int{}
	return r
}

// Lost is how many objects a member lost, each counted once.
func (r *Recent) Lost(member string) int { return len(r.lost(member)) }

// With is how many objects a member will have lost that loses some more and gets others with them. The losses of many members
// that are the same have the same name.
func (r *Recent) With(member, name string, loss []string, gets map[string]bool) int {
	lost := r.lost(member)
	if len(lost) == 0 {
		return len(loss)
	}
	name += "/" + r.signature(r.of(member), r.back(member))
	n, known := r.sums[name]
	if known {
		return n
	}
	for object := range lost {
		if !gets[object] {
			n++
		}
	}
	for _, object := range loss {
		if !lost[object] {
			n++
		}
	}
	r.sums[name] = n
	return n
}

// Wholes is how many members were left without the placement, and have not got it back.
func (r *Recent) Wholes() (n int) {
	last := ""
	for i := range r.release.Taken {
		t := &r.release.Taken[i]
		if t.Whole && t.Member != last && r.counts(t) && !live(entryOf(r.release, t.Member)) {
			n, last = n+1, t.Member
		}
	}
	return n
}

// Left is what is to be kept of the record: losses of which something counts that no later one of the member has.
func (r *Recent) Left() (left []api.Taken, gone []api.Gone) {
	keep := map[int]bool{}
	taken := r.release.Taken
	for at := 0; at < len(taken); {
		member := taken[at].Member
		all, back := r.of(member), r.back(member)
		for i := range all {
			if within(r.set(all[i:i+1], back), r.set(all[i+1:], back)) {
				continue
			}
			left = append(left, all[i])
			if at, known := r.gone[pair{all[i].UID, all[i].From, all[i].To}]; known {
				keep[at] = true
			}
		}
		for at < len(taken) && taken[at].Member == member {
			at++
		}
	}
	for i := range r.release.Gone {
		if keep[i] {
			gone = append(gone, r.release.Gone[i])
		}
	}
	return left, gone
}

func within(a, b map[string]bool) bool {
	for object := range a {
		if !b[object] {
			return false
		}
	}
	return true
}

func (r *Recent) counts(t *api.Taken) bool {
	if r.now.Sub(t.At.Time) < Window {
		return true
	}
	entry := entryOf(r.release, t.Member)
	return entry != nil && entry.Withdrawn
}

// of are the losses of a member that count.
func (r *Recent) of(member string) (all []api.Taken) {
	taken := r.release.Taken
	at, _ := slices.BinarySearchFunc(taken, member, func(t api.Taken, name string) int { return strings.Compare(t.Member, name) })
	for ; at < len(taken) && taken[at].Member == member; at++ {
		if r.counts(&taken[at]) {
			all = append(all, taken[at])
		}
	}
	return all
}

func (r *Recent) lost(member string) map[string]bool {
	all := r.of(member)
	if len(all) == 0 {
		return nil
	}
	return r.set(all, r.back(member))
}

// back is the entry of which a member holds everything, nil where there is none.
func (r *Recent) back(member string) *api.ReleaseEntry {
	entry := entryOf(r.release, member)
	if !live(entry) || !r.known.Applied(entry) {
		return nil
	}
	return entry
}

// Applied says that a result tells of an entry, and that all of it is there.
func Applied(entry *api.ReleaseEntry, result *api.PlacementResult) bool {
	return result != nil && result.UID == entry.UID && result.Generation == entry.Generation && result.Applied == "True"
}

func live(entry *api.ReleaseEntry) bool { return entry != nil && !entry.Withdrawn }

// set are the objects of losses that an entry does not give back.
func (r *Recent) set(taken []api.Taken, back *api.ReleaseEntry) map[string]bool {
	name := r.signature(taken, back)
	set, known := r.sets[name]
	if known {
		return set
	}
	set = map[string]bool{}
	var held map[string]bool
	if back != nil {
		held = r.held(back)
	}
	for i := range taken {
		t := &taken[i]
		at, known := r.gone[pair{t.UID, t.From, t.To}]
		if !known {
			set["of snapshot "+strconv.FormatInt(t.From, 10)] = true // nobody knows what
			continue
		}
		for _, object := range r.release.Gone[at].Objects {
			if !held[object] {
				set[object] = true
			}
		}
	}
	r.sets[name] = set
	return set
}

// held are the objects of the snapshot of an entry.
func (r *Recent) held(entry *api.ReleaseEntry) map[string]bool {
	held, known := r.holds[entry.Snapshot]
	if !known {
		if s := r.known.Snapshot(entry.Snapshot); s != nil && s.UID == entry.UID {
			held = Set(s.Manifests)
		}
		r.holds[entry.Snapshot] = held
	}
	return held
}

// signature is the same for members that lost the same, and got the same back.
func (r *Recent) signature(taken []api.Taken, back *api.ReleaseEntry) string {
	name := make([]byte, 0, 64)
	for i := range taken {
		t := &taken[i]
		if at, known := r.gone[pair{t.UID, t.From, t.To}]; known {
			name = strconv.AppendInt(append(name, ' '), int64(at), 10)
		} else {
			name = strconv.AppendInt(append(name, '?'), t.From, 10)
		}
	}
	if back != nil {
		name = strconv.AppendInt(append(name, '+'), back.Snapshot, 10)
	}
	return string(name)
}

func entryOf(release *api.Release, member string) *api.ReleaseEntry {
	at, found := slices.BinarySearchFunc(release.Entries, member, func(e api.ReleaseEntry, name string) int { return strings.Compare(e.Member, name) })
	if !found {
		return nil
	}
	return &release.Entries[at]
}
