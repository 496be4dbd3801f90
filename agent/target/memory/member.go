// Package memory is a member in memory: objects, nodes and pods that behave as far as a fleet can
// tell like those of a Kubernetes cluster. Workloads have pods that find room on nodes and become
// available after a delay, services get addresses, namespaces take their content with them. Pods are
// evicted as far as their budgets allow, end after their grace, and are made anew by their controllers;
// nodes are launched, drained, and leave with their last finalizer. It keeps a history of what agents
// did to it, and fails on request.
//
// The hub's --dev mode, the demo, agents started without a cluster, and tests use it. It promises
// what package target does. Time is the clock's it was given; nothing runs but that clock's timers.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// Clock gives the time and calls back later.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed. The returned function keeps it from being called.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Running is what a process tells the time by, which goes as fast as the machine's clock; as a Clock its
// timers are the machine's.
type Running func() time.Time

// Now is the time it tells.
func (r Running) Now() time.Time { return r() }

// AfterFunc is time.AfterFunc.
func (Running) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

// Options describe a member. Name and Clock are needed.
type Options struct {
	Name string
	// KubernetesVersion that it claims, "v1.36.3" when empty.
	KubernetesVersion string
	// Nodes it starts with; Requested is not read. A node without a pool is one of DefaultPool, one
	// without a version or an image has those of its pool.
	Nodes []target.Node
	// Pools it starts with. A pool that only nodes mention has the member's version and DefaultImage.
	Pools []api.NodePoolFacts
	// ReadyAfter is how long a pod, a load balancer or a new kind takes to become ready.
	ReadyAfter time.Duration
	// MostGrace is the longest that a deleted pod takes to end, whatever grace it got; 0 is no limit.
	MostGrace time.Duration
	// ScheduleAfter is how long the pods that take the place of others wait for more of them, so that
	// the largest looks for room first, as a simulation has it; 0 is not at all.
	ScheduleAfter time.Duration
	// Clock that the member goes by, a Running one outside of tests.
	Clock Clock
}

// Member is one member in memory. Make it with New.
type Member struct {
	settings

	mu     sync.Mutex
	faults faults.Faults
	provided
	nodes []*node // sorted by name
	contents
	schedule scheduler
	counts   counts
	history  history
	watchers map[chan target.Change]struct{}
	timers
	keep keeper
}

// settings are what a member was made with, and its version.
type settings struct {
	name                  string
	version               string
	readyAfter, mostGrace time.Duration
	clock                 Clock
	began                 int64 // when the member was made, so that nodes of one made again are other nodes
}

// provided is what the provider knows of the member.
type provided struct {
	machines  map[string]*machine // by the node's name
	launches  launches
	pools     []api.NodePoolFacts
	upgrades  upgrades
	driftedAt map[string]time.Time // since when the nodes of Faults.Drifted are
}

// contents are the objects and pods.
type contents struct {
	objects map[apply.Identity]*stored
	owners  map[string]map[apply.Identity]*stored
	pods    map[string]*pod // by namespace/name
	listed  []*pod          // the same, sorted; nil when it must be made anew
	// followed is the order of the newest command that an agent acted on.
	followed api.Order
	touched  map[*stored]struct{} // workloads whose pods changed since the last tell, placed: found room
	placed   map[*stored]struct{}
}

// timers are those that have not gone off.
type timers struct {
	stops   map[int64]func() bool
	started int64 // ever
	closed  bool
}

// counts are what a member counts and never counts again.
type counts struct {
	Writes  int64 `json:"writes"` // resourceVersion of the newest write
	Born    int64 `json:"born"`   // objects ever made
	Spawned int64 `json:"spawned"`
	Joined  int64 `json:"joined"`
}

var _ target.Target = (*Member)(nil)

// New returns a member with the namespaces every cluster has.
func New(o Options) *Member {
	m := &Member{
		settings: settings{name: o.Name, version: o.KubernetesVersion, readyAfter: o.ReadyAfter, mostGrace: o.MostGrace, clock: o.Clock},
		contents: contents{
			objects: map[apply.Identity]*stored{}, owners: map[string]map[apply.Identity]*stored{},
			pods: map[string]*pod{}, touched: map[*stored]struct{}{}, placed: map[*stored]struct{}{},
		},
		provided: provided{machines: map[string]*machine{}},
		schedule: scheduler{waiting: map[*pod]struct{}{}, after: o.ScheduleAfter},
		watchers: map[chan target.Change]struct{}{}, timers: timers{stops: map[int64]func() bool{}},
	}
	if m.version == "" {
		m.version = "v1.36.3"
	}
	m.began = m.clock.Now().UnixNano()
	for i := range o.Pools {
		m.addPool(o.Pools[i])
	}
	for _, n := range o.Nodes {
		m.addNode(n)
	}
	for _, name := range []string{"default", "kube-node-lease", "kube-public", "kube-system"} {
		m.store(namespace(name))
	}
	return m
}

func namespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
}

// Close stops the timers. Calls after it still work, but nobody is told what becomes ready.
func (m *Member) Close() {
	m.mu.Lock()
	defer m.unlock()
	m.closed = true
	for id, stop := range m.stops {
		stop()
		delete(m.stops, id)
	}
}

// Ready is nil unless the member is down, or its state cannot be kept.
func (m *Member) Ready(context.Context) error {
	m.mu.Lock()
	defer m.unlock()
	if m.keep.fault != nil {
		m.write()
	}
	return cmp.Or(m.down(), m.kept())
}

// Version is the Kubernetes version it claims.
func (m *Member) Version(context.Context) (string, error) {
	m.mu.Lock()
	defer m.unlock()
	return m.version, m.down()
}

// Namespaces lists the namespaces, sorted.
func (m *Member) Namespaces(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	var names []string
	for id := range m.objects {
		if id.Group == "" && id.Kind == "Namespace" {
			names = append(names, id.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Nodes lists the nodes with what their pods request.
func (m *Member) Nodes(context.Context) ([]target.Node, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	out := make([]target.Node, len(m.nodes))
	for i, n := range m.nodes {
		out[i] = n.Node
		out[i].Capacity, out[i].Allocatable = n.Capacity.DeepCopy(), n.Allocatable.DeepCopy()
		out[i].Requested, out[i].NotReady = n.requested(), !n.Up
		out[i].Template = target.Template{NodePool: n.NodePool}
	}
	return out, nil
}

// AddNode adds a node, or replaces the one of that name; pods that waited for room move in.
func (m *Member) AddNode(n target.Node) {
	m.mu.Lock()
	defer m.unlock()
	if old := m.nodeNamed(n.Name); old != nil {
		m.leave(old)
	}
	delete(m.machines, n.Name)
	m.addNode(n)
	m.resettle(m.nodeNamed(n.Name))
}

// RemoveNode removes a node with its machine, whatever holds it; its pods look for room elsewhere. It reports whether there was one.
func (m *Member) RemoveNode(name string) bool {
	m.mu.Lock()
	defer m.unlock()
	n := m.nodeNamed(name)
	if n == nil {
		return false
	}
	delete(m.machines, name)
	m.leave(n)
	m.resettle()
	return true
}

// after calls f, with the lock held, once d has passed.
func (m *Member) after(d time.Duration, f func()) {
	if m.closed {
		return
	}
	m.started++
	id := m.started
	m.stops[id] = m.clock.AfterFunc(d, func() {
		m.mu.Lock()
		defer m.unlock()
		if _, ok := m.stops[id]; !ok {
			return
		}
		delete(m.stops, id)
		f()
	})
}

// String names the member for logs.
func (m *Member) String() string { return fmt.Sprintf("member %s in memory", m.name) }
