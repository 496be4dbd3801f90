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

	"flotilla/agent/target/memory/podspec"
)

// pod is one replica of a workload. As JSON it is what is kept of it.
type pod struct {
	podRecord
	of   *stored
	made *podspec.Template
	// on is its node, nil while it waits for room; why says what it waits for, among how many nodes.
	on    *node
	why   string
	among int
	// deaths counts how often its end was set, so that an older timer does nothing.
	deaths int
	gone   bool

	look      *corev1.Pod // as it was last shown
	lookReady bool
}

type podRecord struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	slot
	Turn    turn      `json:"turn"`
	Node    string    `json:"node,omitempty"` // the node it is on
	Created time.Time `json:"created"`
	Bound   time.Time `json:"bound,omitzero"`
	Ready   time.Time `json:"ready,omitzero"`
	// Ending is when it is to be gone, zero while nobody deleted it; Grace is what it got.
	Ending time.Time     `json:"ending,omitzero"`
	Grace  time.Duration `json:"grace,omitempty"`
}

// slot tells the replicas of a workload apart that are not all alike: by the ordinal of a StatefulSet or
// the node that a daemon, or a pod with a nodeName, is for.
type slot struct {
	Ordinal int    `json:"ordinal,omitempty"`
	For     string `json:"for,omitempty"`
}

// turn orders pods of one size that look for room at the same time. A pod that takes the place of
// another has the turn that the other would have.
type turn struct {
	slot    slot
	Created int64     `json:"created"` // in seconds, as an API server shows it
	UID     types.UID `json:"uid"`
}

func (p *pod) key() string { return p.of.Object.GetNamespace() + "/" + p.Name }

// isReady reports whether it runs and answers.
func (p *pod) isReady(now time.Time, stuck bool) bool {
	return p.on != nil && p.Ending.IsZero() && !stuck && !p.on.Lost && !now.Before(p.Ready)
}

// looksFirst is the order in which pods look for room, the largest first as in a simulation of
// disruptions.
func looksFirst(a, b *pod) int {
	return cmp.Or(
		cmp.Compare(b.made.Needs.CPU, a.made.Needs.CPU), cmp.Compare(b.made.Needs.Memory, a.made.Needs.Memory),
		cmp.Compare(a.Turn.Created, b.Turn.Created), cmp.Compare(a.Turn.UID, b.Turn.UID),
	)
}

func byName(a, b *pod) int {
	return cmp.Or(cmp.Compare(a.of.Object.GetNamespace(), b.of.Object.GetNamespace()), cmp.Compare(a.Name, b.Name))
}

// spawn makes a replica of a workload, which then waits for room.
func (m *Member) spawn(s *stored, at slot) {
	m.counts.Spawned++
	now := m.clock.Now()
	p := &pod{of: s, made: s.template(), podRecord: podRecord{slot: at, Created: now, UID: types.UID(fmt.Sprintf("%s-pod-%08d", m.name, m.counts.Spawned))}}
	if s.bare() {
		p.UID = s.Object.GetUID()
	}
	p.Name = m.podName(s, p)
	p.Turn = turn{slot: at, Created: now.Unix(), UID: p.UID}
	if s.vacant != nil && s.vacant.slot == at {
		p.Turn, s.vacant = *s.vacant, nil
	}
	s.Pods = append(s.Pods, p)
	m.pods[p.key()], m.listed = p, nil
	m.schedule.waiting[p] = struct{}{}
	if p.made.Keeps {
		m.schedule.keepers++
	}
	m.touch(s)
}

// podName is the name that its controller would give a pod.
func (m *Member) podName(s *stored, p *pod) string {
	name := s.Object.GetName()
	switch s.Object.GetKind() {
	case podspec.KindPod:
		return name
	case podspec.KindStatefulSet:
		return name + "-" + strconv.Itoa(p.Ordinal)
	case podspec.KindDeployment:
		name += "-" + p.made.Hash
	}
	for n := m.counts.Spawned; ; n++ {
		made := name + "-" + podspec.Suffix(string(s.Object.GetUID())+strconv.FormatInt(n, 10), 5)
		if m.pods[s.Object.GetNamespace()+"/"+made] == nil {
			return made
		}
	}
}

// bind puts a pod on a node.
func (m *Member) bind(p *pod, n *node) {
	now := m.clock.Now()
	p.on, p.Node, p.why, p.Bound, p.Ready, p.look = n, n.Name, "", now, now.Add(m.readyAfter), nil
	delete(m.schedule.waiting, p)
	n.pods[p] = struct{}{}
	n.free.Add(&p.made.Needs, -1)
	m.touch(p.of)
	m.placed[p.of] = struct{}{}
}

// end takes a pod away at once; its controller has yet to notice.
func (m *Member) end(p *pod) {
	p.gone = true
	if n := p.on; n != nil {
		delete(n.pods, p)
		n.free.Add(&p.made.Needs, 1)
	}
	delete(m.schedule.waiting, p)
	delete(m.pods, p.key())
	m.listed = nil
	if p.made.Keeps {
		m.schedule.keepers--
	}
	p.of.Pods = slices.DeleteFunc(p.of.Pods, func(other *pod) bool { return other == p })
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
	p.of.vacant = &turn{slot: p.slot, Created: p.Created.Unix(), UID: p.UID}
	if n := m.nodeNamed(p.For); n != nil && p.of.Object.GetKind() == podspec.KindDaemonSet {
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
	if !p.Ending.IsZero() && !until.Before(p.Ending) {
		return
	}
	p.Ending, p.Grace, p.look = until, grace, nil
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
	at := p.Ending
	if most := m.mostGrace; most > 0 && p.Grace > most {
		at = at.Add(most - p.Grace)
	}
	deaths := p.deaths
	m.after(at.Sub(m.clock.Now()), func() {
		if !p.gone && p.deaths == deaths && !p.on.Lost {
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
