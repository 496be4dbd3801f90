package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod is one replica of a workload.
type pod struct {
	of   *stored
	made *template
	name string
	uid  types.UID
	slot slot
	turn turn
	// on is its node, nil while it waits for room; why says what it waits for, among how many nodes.
	on    *node
	why   string
	among int

	created, bound, ready time.Time
	// ending is when it is to be gone, zero while nobody deleted it; grace is what it got.
	ending time.Time
	grace  time.Duration
	// deaths counts how often its end was set, so that an older timer does nothing.
	deaths int
	gone   bool

	look      *corev1.Pod // as it was last shown
	lookReady bool
}

// slot tells the replicas of a workload apart that are not all alike: by the ordinal of a StatefulSet or
// the node that a daemon, or a pod with a nodeName, is for.
type slot struct {
	ordinal int
	node    string
}

// turn orders pods of one size that look for room at the same time. A pod that takes the place of
// another has the turn that the other would have.
type turn struct {
	slot    slot
	created int64 // in seconds, as an API server shows it
	uid     types.UID
}

func (p *pod) key() string { return p.of.object.GetNamespace() + "/" + p.name }

// isReady reports whether it runs and answers.
func (p *pod) isReady(now time.Time, stuck bool) bool {
	return p.on != nil && p.ending.IsZero() && !stuck && !p.on.lost && !now.Before(p.ready)
}

// looksFirst is the order in which pods look for room, the largest first as in a simulation of
// disruptions.
func looksFirst(a, b *pod) int {
	return cmp.Or(
		cmp.Compare(b.made.needs.cpu, a.made.needs.cpu), cmp.Compare(b.made.needs.memory, a.made.needs.memory),
		cmp.Compare(a.turn.created, b.turn.created), cmp.Compare(a.turn.uid, b.turn.uid),
	)
}

func byName(a, b *pod) int {
	return cmp.Or(cmp.Compare(a.of.object.GetNamespace(), b.of.object.GetNamespace()), cmp.Compare(a.name, b.name))
}

// spawn makes a replica of a workload, which then waits for room.
func (m *Member) spawn(s *stored, at slot) {
	m.counts.Spawned++
	now := m.clock.Now()
	p := &pod{of: s, made: s.template(), slot: at, created: now, uid: types.UID(fmt.Sprintf("%s-pod-%08d", m.name, m.counts.Spawned))}
	if s.bare() {
		p.uid = s.object.GetUID()
	}
	p.name = m.podName(s, p)
	p.turn = turn{slot: at, created: now.Unix(), uid: p.uid}
	if s.vacant != nil && s.vacant.slot == at {
		p.turn, s.vacant = *s.vacant, nil
	}
	s.pods = append(s.pods, p)
	m.pods[p.key()], m.listed = p, nil
	m.schedule.waiting[p] = struct{}{}
	if p.made.keeps {
		m.schedule.keepers++
	}
	m.touch(s)
}

// podName is the name that its controller would give a pod.
func (m *Member) podName(s *stored, p *pod) string {
	name := s.object.GetName()
	switch s.object.GetKind() {
	case kindPod:
		return name
	case kindStatefulSet:
		return name + "-" + strconv.Itoa(p.slot.ordinal)
	case kindDeployment:
		name += "-" + p.made.hash
	}
	for n := m.counts.Spawned; ; n++ {
		made := name + "-" + suffix(string(s.object.GetUID())+strconv.FormatInt(n, 10), 5)
		if m.pods[s.object.GetNamespace()+"/"+made] == nil {
			return made
		}
	}
}

// bind puts a pod on a node.
func (m *Member) bind(p *pod, n *node) {
	now := m.clock.Now()
	p.on, p.why, p.bound, p.ready, p.look = n, "", now, now.Add(m.readyAfter), nil
	delete(m.schedule.waiting, p)
	n.pods[p] = struct{}{}
	n.free.add(&p.made.needs, -1)
	m.touch(p.of)
	m.placed[p.of] = struct{}{}
}

// end takes a pod away at once; its controller has yet to notice.
func (m *Member) end(p *pod) {
	p.gone = true
	if n := p.on; n != nil {
		delete(n.pods, p)
		n.free.add(&p.made.needs, 1)
	}
	delete(m.schedule.waiting, p)
	delete(m.pods, p.key())
	m.listed = nil
	if p.made.keeps {
		m.schedule.keepers--
	}
	p.of.pods = slices.DeleteFunc(p.of.pods, func(other *pod) bool { return other == p })
	m.touch(p.of)
}

// lose ends pods that nobody meant to end: those of a node that is gone, or made anew.
func (m *Member) lose(pods map[*pod]struct{}) {
	for _, p := range slices.SortedFunc(maps.Keys(pods), byName) {
		m.succeed(p)
	}
}

// succeed ends a pod and lets its controller make its successor; a bare pod does not come back.
func (m *Member) succeed(p *pod) {
	m.end(p)
	if p.of.bare() {
		m.remove(p.of)
		return
	}
	p.of.vacant = &turn{slot: p.slot, created: p.created.Unix(), uid: p.uid}
	if n := m.nodeNamed(p.slot.node); n != nil && p.of.object.GetKind() == kindDaemonSet {
		m.reconcileDaemons(p.of, []*node{n})
	} else {
		m.reconcile(p.of)
	}
	p.of.vacant = nil
}

// terminate begins the end of a pod, or brings it forward.
func (m *Member) terminate(p *pod, grace time.Duration) {
	now := m.clock.Now()
	until := now.Add(grace)
	if !p.ending.IsZero() && !until.Before(p.ending) {
		return
	}
	p.ending, p.grace, p.look = until, grace, nil
	p.deaths++
	if p.on == nil || grace <= 0 {
		m.ended(p)
		return
	}
	m.touch(p.of)
	m.awaitEnd(p)
}

// awaitEnd ends a deleted pod once its grace is over.
func (m *Member) awaitEnd(p *pod) {
	at := p.ending
	if most := m.mostGrace; most > 0 && p.grace > most {
		at = at.Add(most - p.grace)
	}
	deaths := p.deaths
	m.after(at.Sub(m.clock.Now()), func() {
		if !p.gone && p.deaths == deaths && !p.on.lost {
			m.ended(p)
			m.tell()
		}
	})
}

// ended is when the kubelet reports a deleted pod gone.
func (m *Member) ended(p *pod) {
	m.succeed(p)
	m.passSoon()
}
