package memory

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
)

// TaintUnregistered keeps all pods off a launched node until whoever launched it takes it off.
const TaintUnregistered = "karpenter.sh/unregistered"

// Launch is a node to launch.
type Launch struct {
	// Name of the node, unique on the member.
	Name string

	// NodePool, InstanceType, Zone and CapacityType become labels when they are not empty.
	NodePool, InstanceType, Zone, CapacityType string
	Price                                      float64 // US dollars per hour
	// Capacity and Allocatable, which is Capacity when nil.
	Capacity, Allocatable corev1.ResourceList

	Labels, Annotations map[string]string
	// Taints the node has from the start; StartupTaints go by themselves once it is ready.
	Taints, StartupTaints []corev1.Taint
	Finalizers            []string
	// LaunchTime is until the node shows, ReadyAfter from then until it is Ready.
	LaunchTime, ReadyAfter time.Duration
}

// machine is what a node runs on, as the provider knows it. As JSON it is what is kept of it.
type machine struct {
	Launch `json:"launch"`
	launchNumber
	// held says what goes on once no fault holds it any more.
	held func()
	// Shows, Starts and Ends are when its node shows and is ready, and when it is to be gone; zero before
	// that is known.
	Shows  time.Time `json:"shows,omitzero"`
	Starts time.Time `json:"starts,omitzero"`
	Ends   time.Time `json:"ends,omitzero"`
}

// LaunchNode begins to launch a node and returns its name. A name whose machine is there already is no
// error: nothing is launched. The node shows with the taints TaintUnregistered and not-ready, and is
// neither registered nor initialized by itself. It works while the API server does not.
func (m *Member) LaunchNode(l Launch) (node string, err error) {
	m.mu.Lock()
	defer m.unlock()
	switch {
	case l.Name == "":
		return "", fmt.Errorf("launching a node on member %s: it needs a name", m.name)
	case m.machines[l.Name] != nil:
		return l.Name, nil
	case m.nodeNamed(l.Name) != nil:
		return "", fmt.Errorf("launching node %s on member %s: the node of a machine that is gone still has this name", l.Name, m.name)
	}
	m.keep.stale()
	mach := &machine{Launch: l, launchNumber: m.launches.next(&l), Shows: m.clock.Now().Add(l.LaunchTime)}
	if f := faults.HitsLaunch(m.faults.FailLaunch, mach.places()); f != nil {
		return "", fmt.Errorf("launching node %s on member %s: no capacity of type %s, on request (fail-launch=%s)", l.Name, m.name, l.InstanceType, f)
	}
	mach.Labels, mach.Annotations = maps.Clone(l.Labels), maps.Clone(l.Annotations)
	mach.Taints, mach.StartupTaints, mach.Finalizers = slices.Clone(l.Taints), slices.Clone(l.StartupTaints), slices.Clone(l.Finalizers)
	m.machines[l.Name] = mach
	m.later(l.LaunchTime, func() { m.register(mach) })
	return l.Name, nil
}

// later is after, and at once when there is nothing to wait for.
func (m *Member) later(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	m.after(d, f)
}

// register shows the node of a machine.
func (m *Member) register(mach *machine) {
	mach.held = nil
	switch {
	case m.machines[mach.Name] != mach:
		return
	case faults.HitsLaunch(m.faults.HangLaunch, mach.places()) != nil:
		mach.held = func() { m.register(mach) }
		return
	}
	n := m.newNode(target.Node{
		Name: mach.Name, Zone: mach.Zone, InstanceType: mach.InstanceType, Capacity: mach.Capacity, Allocatable: mach.Allocatable,
		Price: mach.Price, Kubelet: m.version, Image: DefaultImage, CapacityType: mach.CapacityType,
		Template: target.Template{NodePool: mach.NodePool, Labels: mach.Labels, Annotations: mach.Annotations},
	})
	n.Own = slices.Concat([]corev1.Taint{{Key: TaintUnregistered, Effect: corev1.TaintEffectNoExecute}}, mach.Taints, mach.StartupTaints)
	n.Finalizers, n.Launched, n.Starting = mach.Finalizers, true, true
	m.enter(n)
	m.resettle(n)
	mach.Starts = m.clock.Now().Add(mach.ReadyAfter)
	m.later(mach.ReadyAfter, func() { m.start(mach, n) })
}

// start makes a node ready.
func (m *Member) start(mach *machine, n *node) {
	mach.held = nil
	switch {
	case m.machines[mach.Name] != mach || m.nodeNamed(n.Name) != n:
		return
	case faults.HitsLaunch(m.faults.NeverReady, mach.places()) != nil:
		mach.held = func() { m.start(mach, n) }
		return
	}
	n.Starting = false
	n.Own = slices.DeleteFunc(n.Own, func(t corev1.Taint) bool {
		return slices.ContainsFunc(mach.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) })
	})
	m.judge(n)
	m.resettle(n)
}

// TerminateMachine takes the machine of a node away, which is gone after a while, and reports whether
// it is gone by now. The Node object stays, not ready, until it is deleted.
func (m *Member) TerminateMachine(node string, takes time.Duration) (gone bool) {
	m.mu.Lock()
	defer m.unlock()
	mach := m.machines[node]
	if mach == nil {
		return true
	}
	if mach.Ends.IsZero() {
		m.keep.stale()
		mach.Ends = m.clock.Now().Add(takes)
		m.later(takes, func() { m.vanish(mach) })
	}
	return m.machines[node] == nil
}

// LoseMachine makes the machine of a node vanish behind the node's back, as when the provider takes it.
// It reports whether there was one.
func (m *Member) LoseMachine(node string) bool {
	m.mu.Lock()
	defer m.unlock()
	mach := m.machines[node]
	if mach == nil {
		return false
	}
	m.vanish(mach)
	return true
}

// Machines lists the nodes whose machines are there, sorted, whether their Node objects are or not.
func (m *Member) Machines() []string {
	m.mu.Lock()
	defer m.unlock()
	return slices.Sorted(maps.Keys(m.machines))
}

// HasMachine reports whether the machine of a node is there.
func (m *Member) HasMachine(node string) bool {
	m.mu.Lock()
	defer m.unlock()
	return m.machines[node] != nil
}

// vanish takes a machine away: its node is not heard of any more, its pods neither run nor end.
func (m *Member) vanish(mach *machine) {
	if m.machines[mach.Name] != mach {
		return
	}
	delete(m.machines, mach.Name)
	m.keep.stale()
	n := m.nodeNamed(mach.Name)
	if n == nil {
		return
	}
	n.Lost = true
	m.judge(n)
	for p := range n.pods {
		m.touch(p.of)
	}
	m.resettle(n)
}
