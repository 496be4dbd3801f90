package orchestration_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/sim"
	"flotilla/core/simulate/simulatetest"
)

// land is one member as it really is: nodes, pods, a scheduler, a kubelet, a provider.
type land struct {
	name    string
	nodes   map[string]*realNode
	pods    []*realPod
	budgets []realBudget
	// launches are what the provider made, by the name of the replacement.
	launches map[string]*realLaunch
	uids     int
	awaited  bool // an update run waits for the lock
	moved    int  // pods that were promised a place and got one
	agent    simAgent
}

type realNode struct {
	state api.NodeState // without pods
	// deleted is when its deletion began, zero before; machineGone that the provider took it away.
	deleted     time.Time
	machineGone bool
	ready       time.Time // when a launched node comes up, zero once it is
	launch      *realLaunch
}

// realPod is a pod through all its incarnations: one that is evicted comes back under another name.
type realPod struct {
	state api.PodState
	base  string
	born  int
	on    string // node, "" while it waits for one
	// promised is where a disruption said that it would go; by names that disruption.
	promised, by string
}

type realBudget struct {
	app   string
	least int
}

type realLaunch struct {
	node   string
	failed string
	silent bool // it will never be ready
}

func (l *land) sorted() []string { return slices.Sorted(maps.Keys(l.nodes)) }

func (l *land) podsOn(node string) []*realPod {
	var out []*realPod
	for _, p := range l.pods {
		if p.on == node {
			out = append(out, p)
		}
	}
	return out
}

// snapshot is a node with its pods as the agent tells of it.
func (l *land) snapshot(n *realNode) api.NodeState {
	s := n.state
	s.Deleting = !n.deleted.IsZero()
	s.Taints = slices.Clone(s.Taints)
	s.Pods = nil
	for _, p := range l.podsOn(s.Name) {
		s.Pods = append(s.Pods, p.state)
	}
	return s
}

// schedule puts pods that wait onto nodes: where they were promised a place, else where they fit first.
func (l *land) schedule(now time.Time) {
	var waiting []*realPod
	for _, p := range l.pods {
		if p.on == "" && !p.state.Terminating {
			waiting = append(waiting, p)
		}
	}
	slices.SortFunc(waiting, func(a, b *realPod) int {
		return cmp.Or(cmp.Compare(b.state.Requests["cpu"], a.state.Requests["cpu"]), cmp.Compare(a.base, b.base))
	})
	for _, p := range waiting {
		if n := l.nodes[p.promised]; n != nil && l.fits(p, n) {
			l.bind(p, n, now)
			continue
		}
		for _, name := range l.sorted() {
			if n := l.nodes[name]; l.fits(p, n) {
				l.bind(p, n, now)
				break
			}
		}
	}
}

func (l *land) bind(p *realPod, n *realNode, now time.Time) {
	if p.promised != "" {
		l.moved++
	}
	p.on, p.state.Phase, p.promised = n.state.Name, "Running", ""
	p.state.Started = metav1.NewTime(now)
	l.touch(n, p, now)
}

// touch stamps the node's last pod event.
func (l *land) touch(n *realNode, p *realPod, now time.Time) {
	if p.state.Owner != "DaemonSet" {
		n.state.LastPodEvent = metav1.NewTime(now)
	}
}

// fits is a scheduler's own judgement, made without the code under test.
func (l *land) fits(p *realPod, n *realNode) bool {
	if !n.deleted.IsZero() || !n.state.Ready || len(n.state.Taints) > 0 {
		return false
	}
	for k, v := range p.state.NodeSelector {
		if n.state.Labels[k] != v {
			return false
		}
	}
	cpu, memory := p.state.Requests["cpu"], p.state.Requests["memory"]
	for _, q := range l.podsOn(n.state.Name) {
		cpu, memory = cpu+q.state.Requests["cpu"], memory+q.state.Requests["memory"]
		if dislikes(p, q) || dislikes(q, p) || len(p.state.Ports) > 0 && len(q.state.Ports) > 0 {
			return false
		}
	}
	return cpu <= n.state.Allocatable["cpu"] && memory <= n.state.Allocatable["memory"]
}

// dislikes reports whether a pod keeps those of q's app off its node.
func dislikes(p, q *realPod) bool {
	return p.state.Affinity != nil && p.state.Labels["app"] == q.state.Labels["app"]
}

// allowed is the status of a PodDisruptionBudget.
func (l *land) allowed(b *realBudget) int32 {
	healthy := 0
	for _, p := range l.pods {
		if p.state.Labels["app"] == b.app && p.on != "" && !p.state.Terminating {
			healthy++
		}
	}
	return int32(max(0, healthy-b.least))
}

// evict asks for a pod to go, as the eviction API does; false when a PodDisruptionBudget forbids it.
func (l *land) evict(p *realPod, now time.Time) bool {
	for i := range l.budgets {
		if b := &l.budgets[i]; b.app == p.state.Labels["app"] && l.allowed(b) <= 0 {
			return false
		}
	}
	l.terminate(p, 5*time.Second, now)
	return true
}

// terminate ends a pod after its grace. A ReplicaSet makes another at once.
func (l *land) terminate(p *realPod, grace time.Duration, now time.Time) {
	if p.state.Owner == "ReplicaSet" && !p.state.Terminating {
		next := *p
		next.state.Labels = maps.Clone(p.state.Labels)
		l.pods = append(l.pods, &next)
		next.wait()
		p.promised = ""
	}
	p.state.Terminating, p.state.GoneBy = true, metav1.NewTime(now.Add(grace))
	if n := l.nodes[p.on]; n != nil {
		l.touch(n, p, now)
	}
}

// kubelet ends terminating pods, and lets new nodes come up.
func (l *land) kubelet(now time.Time) {
	for _, p := range slices.Clone(l.pods) {
		if p.state.Terminating && !now.Before(p.state.GoneBy.Time) {
			l.remove(p)
		}
	}
	for _, name := range l.sorted() {
		n := l.nodes[name]
		if n.ready.IsZero() || now.Before(n.ready) || n.launch != nil && n.launch.silent {
			continue
		}
		n.ready, n.state.Ready, n.state.Initialized = time.Time{}, true, true
		n.state.Since = metav1.NewTime(now)
		n.state.Taints = slices.DeleteFunc(n.state.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
	}
}

// wait makes a pod one that waits for a node, under a new name.
func (p *realPod) wait() {
	p.born++
	p.on, p.state.Phase, p.state.Started = "", "Pending", metav1.Time{}
	p.state.Name = fmt.Sprintf("%s-%d", p.base, p.born)
	p.state.UID = p.state.Name
}

func (l *land) remove(p *realPod) {
	l.pods = slices.DeleteFunc(l.pods, func(q *realPod) bool { return q == p })
}

// vanish takes a node away with its machine: its pods come back elsewhere.
func (l *land) vanish(name string) {
	for _, p := range l.podsOn(name) {
		if p.state.Owner == "ReplicaSet" && !p.state.Terminating {
			p.wait()
		} else {
			l.remove(p)
		}
	}
	delete(l.nodes, name)
}

// launch is the provider: idempotent by the replacement's name.
func (l *land) launch(r *api.NodeReplacement, pool *api.PoolTemplate, luck *sim.Source, f *faults, now time.Time) *realLaunch {
	if made := l.launches[r.Name]; made != nil {
		return made
	}
	made := &realLaunch{}
	l.launches[r.Name] = made
	switch {
	case f.launches && luck.Chance(5):
		made.failed = "no capacity"
		return made
	case f.launches && luck.Chance(8):
		return made // accepted, and never heard of again
	case f.launches && luck.Chance(8):
		made.silent = true
	}
	made.node = "new-" + r.Name
	n := l.newNode(made.node, r, pool, luck, now)
	n.launch, n.ready = made, now.Add(time.Duration(10+luck.Below(60))*time.Second)
	l.nodes[made.node] = n
	return made
}

// newNode is what a provider makes of a replacement: any of its types will do.
func (l *land) newNode(name string, r *api.NodeReplacement, pool *api.PoolTemplate, luck *sim.Source, now time.Time) *realNode {
	kind := sim.Pick(luck, r.Types...)
	n := simulatetest.Node(name, kind.Name, kind.Offerings[0].Zone, pool.Name)
	maps.Copy(n.Labels, kind.Labels)
	n.Labels[api.LabelCapacityType] = kind.Offerings[0].CapacityType
	n.Capacity, n.Allocatable = kind.Capacity, kind.Allocatable
	n.Annotations = map[string]string{api.AnnotationPoolHash: pool.Hash, api.AnnotationPoolHashLevel: capacity.PoolHashLevel}
	n.Created, n.ExpireAfter = metav1.NewTime(now), pool.ExpireAfter
	n.Ready, n.Initialized, n.Since = false, false, metav1.Time{}
	n.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	l.uids++
	n.UID = fmt.Sprintf("%s-%d", name, l.uids)
	return &realNode{state: *n}
}
