package memory

import (
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
	var objects []*stored
	if err := disk.ReadFolder(filepath.Join(folder, "objects"), func(s stored) { objects = append(objects, &s) }); err != nil {
		return err
	}
	if err := disk.DropTemporaries(folder); err != nil {
		return err
	}
	slices.SortFunc(objects, byNumber)
	m.restoreNodes(&record)
	m.restoreObjects(objects)
	m.goOn(&record)
	return nil
}

// restoreNodes replaces the member's own state, pools and nodes by those of a record.
func (m *Member) restoreNodes(r *memberRecord) {
	m.version, m.began, m.counts, m.pools, m.launches = r.Version, r.Began, r.Counts, r.Pools, r.Launches
	m.nodes = r.Nodes
	for _, n := range m.nodes {
		n.open()
		m.judge(n)
	}
	clear(m.machines)
	for _, mach := range r.Machines {
		m.machines[mach.Name] = mach
	}
}

// restoreObjects replaces the member's objects by those that were kept.
func (m *Member) restoreObjects(kept []*stored) {
	clear(m.objects)
	clear(m.owners)
	for _, s := range kept {
		m.objects[s.id()] = s
		m.index(s)
		for _, p := range s.Pods {
			m.restorePod(s, p)
		}
	}
	for _, s := range kept {
		if s.workload() {
			m.reconcile(s)
		} else if m.readyAfter > 0 && waits(s.Object) {
			m.tellSettled(s)
		}
	}
}

// restorePod gives a workload a pod back, on the node it was on if that is there.
func (m *Member) restorePod(s *stored, p *pod) {
	p.of, p.made, p.Turn.slot = s, s.template(), p.slot
	m.pods[p.key()] = p
	if p.made.Keeps {
		m.schedule.keepers++
	}
	n := m.nodeNamed(p.Node)
	if n == nil {
		p.Node, p.Ending, p.Grace, p.Bound, p.Ready = "", time.Time{}, 0, time.Time{}, time.Time{}
		m.schedule.waiting[p] = struct{}{}
		return
	}
	bound, ready := p.Bound, p.Ready
	m.bind(p, n)
	p.Bound, p.Ready = bound, ready
	if !p.Ending.IsZero() {
		m.awaitEnd(p)
	}
}

// goOn continues launches, ends of machines, and the upgrade that ran.
func (m *Member) goOn(r *memberRecord) {
	now := m.clock.Now()
	for _, name := range slices.Sorted(maps.Keys(m.machines)) {
		mach := m.machines[name]
		switch n := m.nodeNamed(name); {
		case n == nil && !mach.Shows.IsZero() && mach.Starts.IsZero():
			m.after(mach.Shows.Sub(now), func() { m.register(mach) })
		case n != nil && n.Starting:
			m.after(mach.Starts.Sub(now), func() { m.start(mach, n) })
		}
		if !mach.Ends.IsZero() {
			m.after(mach.Ends.Sub(now), func() { m.vanish(mach) })
		}
	}
	m.upgrades = upgrades{begun: r.Upgrades}
	for _, u := range r.Upgrades {
		u.changed = make(chan struct{})
		if !u.Ended {
			m.upgrades.running = u
			m.awaitStep(u)
		}
	}
	m.pass()
}
