package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/podspec"
	"flotilla/core/apply"
)

// reconcile gives a workload the pods it wants: a changed template replaces all of them at once.
func (m *Member) reconcile(s *stored) {
	t := s.template()
	if len(s.Pods) > 0 && s.Pods[0].made.Text != t.Text {
		m.release(s)
	}
	for _, p := range s.Pods {
		if p.made != t {
			p.made, p.look = t, nil
		}
	}
	switch s.Object.GetKind() {
	case podspec.KindDaemonSet:
		m.reconcileDaemons(s, m.nodes)
	case podspec.KindStatefulSet:
		m.reconcileOrdinals(s)
	default:
		m.reconcileReplicas(s)
	}
}

// reconcileReplicas is what the controllers of ReplicaSets do. Of too many pods those go first that wait
// for room, then those that are cheapest to lose, then the newest.
func (m *Member) reconcileReplicas(s *stored) {
	want := int(s.replicas())
	if surplus := len(s.Pods) - want; surplus > 0 {
		order := slices.Clone(s.Pods)
		slices.SortStableFunc(order, func(a, b *pod) int {
			return cmp.Or(cmp.Compare(seated(a), seated(b)), -a.Created.Compare(b.Created), -cmp.Compare(a.UID, b.UID))
		})
		for _, p := range order[:surplus] {
			m.end(p)
		}
	}
	for len(s.Pods) < want {
		m.spawn(s, slot{For: s.template().Node})
	}
}

func seated(p *pod) int {
	if p.on == nil {
		return 0
	}
	return 1
}

// reconcileOrdinals keeps the pods 0 to replicas-1 of a StatefulSet.
func (m *Member) reconcileOrdinals(s *stored) {
	want := int(s.replicas())
	have := map[int]bool{}
	for _, p := range slices.Clone(s.Pods) {
		if p.Ordinal >= want {
			m.end(p)
			continue
		}
		have[p.Ordinal] = true
	}
	for i := range want {
		if !have[i] {
			m.spawn(s, slot{Ordinal: i})
		}
	}
}

// reconcileDaemons keeps one pod on every node of some that a DaemonSet is for.
func (m *Member) reconcileDaemons(s *stored, among []*node) {
	spec, wanted := &s.template().Pod.Spec, make(map[string]bool, len(among))
	for _, n := range among {
		wanted[n.Name] = podspec.Selects(spec, n.Name, n.Labels) && podspec.Untolerated(spec.Tolerations, n.taints) == nil
	}
	for _, p := range slices.Clone(s.Pods) {
		here, asked := wanted[p.For]
		if asked && !here && p.on == nil || !asked && m.nodeNamed(p.For) == nil {
			m.end(p)
			continue
		}
		if asked {
			wanted[p.For] = false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[name] {
			m.spawn(s, slot{For: name})
		}
	}
}

// release ends all pods of a workload.
func (m *Member) release(s *stored) {
	for _, p := range slices.Clone(s.Pods) {
		m.end(p)
	}
}

// resettle follows a change of some nodes.
func (m *Member) resettle(changed ...*node) {
	for _, s := range m.daemons() {
		m.reconcileDaemons(s, changed)
	}
	m.pass()
	m.notify(target.Change{Nodes: true})
}

func (m *Member) daemons() []*stored {
	var out []*stored
	for _, s := range m.objects {
		if s.Object.GetKind() == podspec.KindDaemonSet && s.workload() {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, byNumber)
	return out
}

// touch notes that pods of a workload changed; tell says so to those who watch.
func (m *Member) touch(s *stored) {
	m.touched[s] = struct{}{}
	m.keep.changed(s)
}

func (m *Member) tell() {
	for _, s := range slices.SortedFunc(maps.Keys(m.touched), byNumber) {
		m.notify(target.Change{Owners: []string{s.owner()}, Pods: true})
	}
	clear(m.touched)
	if m.readyAfter > 0 {
		for _, s := range slices.SortedFunc(maps.Keys(m.placed), byNumber) {
			m.after(m.readyAfter, func() { m.notify(target.Change{Owners: []string{s.owner()}, Pods: true}) })
		}
	}
	clear(m.placed)
}

// census counts the pods of a workload that are ready, and says what the others wait for.
func (m *Member) census(s *stored) (ready int64, waitsFor string) {
	now, stuck := m.clock.Now(), m.faults.StuckAt(apply.RefOf(s.Object))
	for _, p := range s.Pods {
		switch {
		case p.isReady(now, stuck):
			ready++
		case p.on == nil:
			waitsFor = fmt.Sprintf("pods wait for room: %d nodes, %s", p.among, p.why)
		case !p.Ending.IsZero():
			waitsFor = "pods are being deleted"
		case stuck:
			waitsFor = "back-off restarting failed container"
		}
	}
	return ready, waitsFor
}
