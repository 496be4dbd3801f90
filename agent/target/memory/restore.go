package memory

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"flotilla/agent/disk"
)

// restore makes the member the one that is kept in its folder, and goes on with what was under way: what
// fell due since happens at once. Without one there, the member is kept there from now on.
func (m *Member) restore() error {
	var record memberRecord
	folder, path := m.keep.folder, m.keep.member()
	err := disk.Read(path, &record)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m.begin()
	case err != nil:
		return err
	case record.Layout != recordLayout:
		return fmt.Errorf("%s has layout %d, expected %d", path, record.Layout, recordLayout)
	case record.Name != m.name:
		return fmt.Errorf("%s is of member %s, expected %s", path, record.Name, m.name)
	}
	var objects []objectRecord
	if err := disk.ReadFolder(filepath.Join(folder, "objects"), func(r objectRecord) { objects = append(objects, r) }); err != nil {
		return err
	}
	if err := disk.DropTemporaries(folder); err != nil {
		return err
	}
	slices.SortFunc(objects, func(a, b objectRecord) int { return cmp.Compare(a.Number, b.Number) })
	m.restoreNodes(&record)
	m.restoreObjects(objects)
	m.goOn(&record)
	return nil
}

// restoreNodes replaces the member's own state, pools and nodes by those of a record.
func (m *Member) restoreNodes(r *memberRecord) {
	m.version, m.began, m.counts, m.pools = r.Version, r.Began, r.Counts, r.Pools
	m.launches = launches{all: r.Launches.All, pools: r.Launches.Pools, types: r.Launches.Types}
	m.nodes = nil
	for i := range r.Nodes {
		k := &r.Nodes[i]
		n := &node{
			Node: k.Given, number: k.Number, uid: k.UID, created: k.Created, labels: k.Labels, notes: k.Annotations, own: k.Taints,
			finalizers: k.Finalizers, unschedulable: k.Unschedulable, deleting: k.Deleting, out: k.Out, outSince: k.OutSince,
			draining: k.Draining, launched: k.Launched, starting: k.Starting, lost: k.Lost, up: k.Up, upSince: k.UpSince,
			room: amountsOf(room(k.Given.Allocatable)), free: amountsOf(room(k.Given.Allocatable)), pods: map[*pod]struct{}{},
		}
		m.nodes = append(m.nodes, n)
		m.judge(n)
	}
	clear(m.machines)
	for i := range r.Machines {
		k := &r.Machines[i]
		m.machines[k.Launch.Name] = &machine{
			Launch: k.Launch, number: launchNumber{k.All, k.OfPool, k.OfType}, shows: k.Shows, starts: k.Starts, ends: k.Ends,
		}
	}
}

// restoreObjects replaces the member's objects by those of records.
func (m *Member) restoreObjects(records []objectRecord) {
	clear(m.objects)
	clear(m.owners)
	for i := range records {
		k := &records[i]
		s := &stored{object: k.Object, number: k.Number, changed: k.Changed}
		m.objects[s.id()] = s
		m.index(s)
		for j := range k.Pods {
			m.restorePod(s, &k.Pods[j])
		}
	}
	for _, s := range m.sorted() {
		if s.workload() {
			m.reconcile(s)
		} else if m.readyAfter > 0 && waits(s.object) {
			m.tellSettled(s)
		}
	}
}

// restorePod gives a workload a pod back, on the node it was on if that is there.
func (m *Member) restorePod(s *stored, k *podRecord) {
	p := &pod{
		of: s, made: s.template(), name: k.Name, uid: k.UID, slot: slot{k.Ordinal, k.For}, created: k.Created, ending: k.Ending, grace: k.Grace,
	}
	p.turn = turn{slot: p.slot, created: k.Turn.Created, uid: k.Turn.UID}
	s.pods = append(s.pods, p)
	m.pods[p.key()] = p
	if p.made.keeps {
		m.schedule.keepers++
	}
	n := m.nodeNamed(k.Node)
	if n == nil {
		p.ending, p.grace = time.Time{}, 0
		m.schedule.waiting[p] = struct{}{}
		return
	}
	m.bind(p, n)
	p.bound, p.ready = k.Bound, k.Ready
	if !p.ending.IsZero() {
		m.awaitEnd(p)
	}
}

// goOn continues launches, ends of machines, and the upgrade that ran.
func (m *Member) goOn(r *memberRecord) {
	now := m.clock.Now()
	for _, name := range slices.Sorted(maps.Keys(m.machines)) {
		mach := m.machines[name]
		switch n := m.nodeNamed(name); {
		case n == nil && !mach.shows.IsZero() && mach.starts.IsZero():
			m.after(mach.shows.Sub(now), func() { m.register(mach) })
		case n != nil && n.starting:
			m.after(mach.starts.Sub(now), func() { m.start(mach, n) })
		}
		if !mach.ends.IsZero() {
			m.after(mach.ends.Sub(now), func() { m.vanish(mach) })
		}
	}
	m.upgrades = upgrades{}
	for i := range r.Upgrades {
		k := &r.Upgrades[i]
		u := &provision{
			op: k.Operation, began: k.Began, steps: k.Steps, at: k.At, notes: k.Notes, pools: k.Pools, ended: k.Ended, fault: k.Fault,
			changed: make(chan struct{}),
		}
		m.upgrades.begun = append(m.upgrades.begun, u)
		if !u.ended {
			m.upgrades.running = u
			m.awaitStep(u)
		}
	}
	m.pass()
}
