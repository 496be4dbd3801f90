package show

import (
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/core/overview"
	"flotilla/core/plan"
	"flotilla/core/status"
	"flotilla/subjects"
)

// board keeps the rows of a fleet: what changed since it was read last is made anew, and the rest is copied.
type board struct {
	view *View

	mu         sync.Mutex // held by who reads
	members    shelf[memberRow]
	placements shelf[placementRow]
	runs       shelf[overview.Run]
	releases   shelf[*api.Release]
	loads      map[string]*load // by member
}

// load is what is placed on a member, and how much of that is in trouble by the status records.
type load struct{ placed, troubled int }

type memberRow struct {
	overview.Member
	load *load
	// heard says that the member was heard of.
	heard bool
	// until is when time alone changes how its credentials stand, zero for never.
	until time.Time
}

type placementRow struct {
	overview.Placement
	// troubled are the entries of its status record.
	troubled []api.PerMemberStatus
	// fresh says that the row is made anew whenever it is read, because its status record is behind.
	fresh bool
}

// newBoard follows the records of a view.
func newBoard(v *View) *board {
	b := &board{view: v, loads: map[string]*load{}}
	v.records.Members.OnChange(b.members.hear)
	v.records.Seen.OnChange(b.members.hear)
	v.identities.OnChange(b.members.hear)
	v.store.Inventories.OnChange(b.members.hear)
	v.records.Placements.OnChange(b.placements.hear)
	v.statuses.OnChange(b.placements.hear)
	v.records.Snapshots.OnChange(func(name string) { b.placements.hear(subjects.Snapshots.Group(name)) })
	v.records.Releases.OnChange(b.releases.hear)
	v.records.Specs[api.KindUpdateRun].OnChange(b.runs.hear)
	v.records.Runs.OnChange(b.runs.hear)
	return b
}

// read are the rows at a time.
func (b *board) read(now time.Time) *overview.Fleet {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.countReleases()
	b.placements.refresh(b.placement)
	b.members.refresh(b.member)
	b.runs.refresh(b.run)
	fleet := &overview.Fleet{
		Members: make([]overview.Member, len(b.members.rows)), Placements: make([]overview.Placement, len(b.placements.rows)),
		Runs: newestFirst(b.runs.rows),
	}
	for i := range b.placements.rows {
		if row := &b.placements.rows[i]; row.fresh {
			b.placements.hear(row.Key)
		}
		fleet.Placements[i] = b.placements.rows[i].Placement
	}
	for i := range b.members.rows {
		fleet.Members[i] = b.atNow(&b.members.rows[i], now)
	}
	return fleet
}

// loadOf is what is placed on a member; it is the same for as long as the board is.
func (b *board) loadOf(member string) *load {
	l := b.loads[member]
	if l == nil {
		l = &load{}
		b.loads[member] = l
	}
	return l
}

// atNow is the row of a member with what time alone changes.
func (b *board) atNow(row *memberRow, now time.Time) overview.Member {
	if !row.until.IsZero() && !now.Before(row.until) {
		b.credentials(row, now)
	}
	m := row.Member
	if m.Admitted && row.heard {
		m.Placements = row.load.placed
	}
	m.Troubled = row.load.troubled
	if entry, found := b.view.store.Heartbeats.Get(m.Name); found && row.heard {
		m.LastSeen.Time = now.Add(-b.view.store.Heartbeats.Age(entry, now)).UTC()
	}
	return m
}

// member makes the row of a member; false for one that is none.
func (b *board) member(name string) (row memberRow, there bool) {
	v := b.view
	var record *api.MemberRecord
	if found, _, seen := v.records.Seen.Get(name); seen && !v.records.Lingers(&found) {
		record = &found
	}
	m, admitted := v.records.Cluster(name)
	if record == nil && !admitted {
		if l := b.loads[name]; l != nil && *l == (load{}) {
			delete(b.loads, name)
		}
		return row, false
	}
	region := ""
	if inventory := v.Inventory(name); inventory != nil && record != nil {
		region = inventory.Region
	}
	row = memberRow{Member: overview.MemberOf(m, record, region), load: b.loadOf(name), heard: record != nil}
	row.Name = name
	if row.heard {
		row.LastSeen = record.LastSeen
		b.credentials(&row, v.store.Now())
	}
	return row, true
}

// credentials says how those of the agent of a member stand, and until when.
func (b *board) credentials(row *memberRow, now time.Time) {
	row.until = time.Time{}
	identity, _, known := b.view.identities.Get(row.Name)
	if !known {
		row.Credentials = ""
		return
	}
	row.Credentials = enrolment.Credentials(&identity, now).State
	for _, at := range []time.Time{enrolment.Overdue(&identity), identity.Ends.Time} {
		if at.After(now) {
			row.until = at
			return
		}
	}
}

// placement makes the row of a placement, and counts anew on whose members it is in trouble.
func (b *board) placement(key string) (row placementRow, there bool) {
	if at, known := b.placements.at(key); known {
		b.trouble(at.troubled, -1)
	}
	v := b.view
	spec, revision, there := v.records.Placements.Get(key)
	if !there {
		return row, false
	}
	p, err := v.records.Placement(&store.Entry[api.Spec]{Name: key, Value: spec, Revision: revision})
	if err != nil {
		return placementRow{Placement: overview.Unreadable(key, &spec, err)}, true
	}
	in := v.groundOf(p)
	now := in.Previous
	if row.fresh = behind(in); row.fresh {
		made, _ := status.NewFold(in, v.said(key)).Follow(in.Previous, in.JudgeFrom, in.Now)
		now = &made
	}
	row.Placement, row.troubled = overview.PlacementOf(p, now), now.PlacementStatuses
	b.trouble(row.troubled, 1)
	return row, true
}

// behind says that the status record of a placement is none of it as it is now.
func behind(in status.Input) bool {
	was := in.Previous
	if was == nil || was.ObservedGeneration != in.Placement.Generation {
		return true
	}
	return in.Latest != nil && !in.Placement.External() && was.ObservedSnapshot != strconv.FormatInt(in.Latest.Index, 10)
}

// trouble counts the members on which a placement failed, drifted or is not available.
func (b *board) trouble(entries []api.PerMemberStatus, times int) {
	for i := range entries {
		switch entries[i].State {
		case api.EntryFailed, api.EntryDrifted, api.EntryNotAvailable:
			b.loadOf(entries[i].ClusterName).troubled += times
		}
	}
}

// countReleases counts anew what the releases that changed place on members.
func (b *board) countReleases() {
	b.releases.refresh(func(key string) (*api.Release, bool) {
		if before, known := b.releases.at(key); known {
			b.place(*before, -1)
		}
		now, _, found := b.view.records.Releases.Get(key)
		if !found {
			return nil, false
		}
		b.place(&now, 1)
		return &now, true
	})
}

func (b *board) place(release *api.Release, times int) {
	for i := range release.Entries {
		if entry := &release.Entries[i]; !entry.Withdrawn {
			b.loadOf(entry.Member).placed += times
		}
	}
}

// run makes the row of a run of either kind.
func (b *board) run(key string) (row overview.Run, there bool) {
	spec, _, there := b.view.records.Specs[api.KindUpdateRun].Get(key)
	if !there {
		return row, false
	}
	target := ""
	if spec.Object.Kind == api.KindUpdateRun {
		if run, err := api.SpecOf[api.UpdateRun](&spec); err == nil {
			target = plan.UpgradeText(&run.Spec.Upgrade)
		}
	}
	head := metav1.ObjectMeta{Namespace: spec.Object.Namespace, Name: spec.Object.Name, CreationTimestamp: spec.Created}
	return overview.RunOf(spec.Object.Kind, &head, target, b.view.records.RunStatus(&spec)), true
}

func newestFirst(runs []overview.Run) []overview.Run {
	sorted := make([]overview.Run, len(runs))
	copy(sorted, runs)
	slices.SortStableFunc(sorted, func(a, b overview.Run) int { return b.Created.Compare(a.Created.Time) })
	return sorted
}
