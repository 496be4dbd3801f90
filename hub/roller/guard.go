package roller

import (
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/subjects"
)

// ground is what guards go by on what a placement would take away.
func (r *records) ground(name, uid string, bounds guard.Bounds, now time.Time) *guard.Ground {
	l := &ledger{records: r, now: now, own: name, lengths: map[string]int{}}
	return &guard.Ground{
		Bounds: bounds, Taken: l.taken, Has: l.has,
		Snapshot: r.snapshotsOf(name),
		Approved: func(member string, loss api.Loss) bool {
			for _, of := range []string{guard.ApprovalOfPlacement(name), guard.ApprovalOfMember(member)} {
				if a, _, found := r.approvals.Get(of); found && guard.Approves(&a, name, uid, member, loss) {
					return true
				}
			}
			return false
		},
	}
}

// snapshotsOf finds the snapshots of a placement.
func (r *records) snapshotsOf(placement string) func(index int64) *api.Snapshot {
	return func(index int64) *api.Snapshot {
		if s, _, found := r.snapshots.Get(subjects.SnapshotName(placement, index)); found {
			return &s
		}
		return nil
	}
}

// ledger counts, for one decision on a placement, what members have of all placements, and what others took off them of late.
type ledger struct {
	records *records
	now     time.Time
	own     string
	recent  []*guard.Recent // of others, once somebody asked
	asked   bool
	lengths map[string]int // of snapshots, by name
}

// others are the placements that took something of late.
func (l *ledger) others() []*guard.Recent {
	if l.asked {
		return l.recent
	}
	l.asked = true
	for _, entry := range l.records.releases.All() {
		if entry.Name == l.own || len(entry.Value.Taken) == 0 {
			continue
		}
		l.recent = append(l.recent, guard.RecentOf(&entry.Value, guard.Known{
			Snapshot: l.records.snapshotsOf(entry.Name),
			Applied: func(e *api.ReleaseEntry) bool {
				return guard.Applied(e, l.records.results.Of(e.Member, entry.Name))
			},
		}, l.now))
	}
	return l.recent
}

func (l *ledger) taken(member string) (lost int) {
	for _, recent := range l.others() {
		lost += recent.Lost(member)
	}
	return lost
}

func (l *ledger) has(member string) (objects int) {
	for _, placement := range l.records.released.Of(member) {
		release, _, _ := l.records.releases.Get(placement)
		at, found := slices.BinarySearchFunc(release.Entries, member, func(e api.ReleaseEntry, name string) int { return strings.Compare(e.Member, name) })
		if found && !release.Entries[at].Withdrawn {
			objects += l.length(subjects.SnapshotName(placement, release.Entries[at].Snapshot))
		}
	}
	return objects
}

// length is how many objects a snapshot holds.
func (l *ledger) length(name string) int {
	n, known := l.lengths[name]
	if !known {
		s, _, _ := l.records.snapshots.Get(name)
		n = len(s.Manifests)
		l.lengths[name] = n
	}
	return n
}
