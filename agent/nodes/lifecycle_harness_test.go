package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/agent/nodes/memory"
	"flotilla/agent/target"
	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// scene is a hub that wants nodes of a member in memory to go.
type scene struct {
	t          *testing.T
	server     *bustest.Server
	store      *store.Store
	generation uint64
	last       uint64

	member   *targetmemory.Member
	provider *counting
	data     string
	commands int
	agent    *actor // the newest
}

// newScene has a member with nodes of NodePool "general", 4 CPUs and 16 GiB each.
func newScene(t *testing.T, nodes ...string) *scene {
	t.Helper()
	o := targetmemory.Options{Clock: targetmemory.Running(elsewhen.Now), Name: "berlin", MostGrace: 20 * time.Millisecond}
	for _, name := range nodes {
		o.Nodes = append(o.Nodes, generalNode(t, name))
	}
	m := targetmemory.New(o)
	t.Cleanup(m.Close)
	s := newHubScene(t)
	s.member, s.provider = m, &counting{Provider: memory.New(m, memory.Options{})}
	return s
}

func newHubScene(t *testing.T) *scene {
	t.Helper()
	server := bustest.Start(t)
	return &scene{t: t, server: server, store: server.Lead(t), data: t.TempDir()}
}

func generalNode(t *testing.T, name string) target.Node {
	t.Helper()
	n, err := target.NewNode(name, "4", "16Gi")
	require.NoError(t, err)
	n.NodePool, n.Zone, n.CapacityType, n.InstanceType = "general", "z-a", api.CapacityOnDemand, "d4"
	return n
}

// counting notes the launches that a provider was asked for.
type counting struct {
	Provider
	mu    sync.Mutex
	asked []string
}

func (p *counting) Launch(ctx context.Context, l api.NodeLaunch) (api.LaunchedNode, error) {
	p.mu.Lock()
	p.asked = append(p.asked, l.Name)
	p.mu.Unlock()
	return p.Provider.Launch(ctx, l)
}

// actor is a running agent's part.
type actor struct {
	nodes *Nodes
	stop  func()
}

// start starts an agent on the scene's data directory; change may change its options.
func (s *scene) start(change ...func(*Options)) *actor {
	s.t.Helper()
	conn, err := member.Connect(s.t.Context(), s.server.AgentOptions(s.t, "berlin"), "berlin")
	require.NoError(s.t, err)
	o := Options{
		Member: "berlin", Hub: conn, Target: s.member, Provider: s.provider, Data: s.data, Interval: 10 * time.Millisecond,
		PollEvery: time.Second, LeastDrain: time.Millisecond, Log: s.server.Log(),
	}
	for _, f := range change {
		f(&o)
	}
	n, err := New(o)
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stopped := false
	a := &actor{nodes: n, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(s.t, <-done)
		conn.Close()
	}}
	s.t.Cleanup(a.stop)
	s.agent = a
	return a
}

// command tells the agent the whole of what is wanted.
func (s *scene) command(ds ...api.Disruption) {
	s.t.Helper()
	s.generation++
	s.commandAt(api.Order{Epoch: 1, Term: 1, Generation: s.generation}, func(c *api.DisruptionCommand) { c.Disruptions = ds })
}

func (s *scene) commandAt(order api.Order, change func(*api.DisruptionCommand)) {
	s.t.Helper()
	c := api.DisruptionCommand{Header: api.NewHeader(api.KindDisruptionCommand), Member: "berlin", Order: order, Pools: []api.PoolTemplate{general()}}
	change(&c)
	s.publish(order, c)
}

func (s *scene) publish(order api.Order, command any) {
	s.t.Helper()
	s.commands++
	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandDisruption, Digest: fmt.Sprint(s.commands), Order: order}
	sequence, err := s.store.Commands.Publish(s.t.Context(), head, command, s.last)
	require.NoError(s.t, err)
	s.last = sequence
}

// general is the template of NodePool "general".
func general() api.PoolTemplate {
	var p api.PoolTemplate
	p.Name, p.Hash, p.ClassHash, p.ExpireAfter = "general", "h1", "c1", "720h"
	p.Template.Metadata.Labels = map[string]string{"team": "web"}
	p.Template.Metadata.Annotations = map[string]string{"note": "mine", api.AnnotationDoNotDisrupt: "true"}
	p.Template.Spec.TerminationGracePeriod = "1h"
	return p
}

// replacement is a node to launch.
func replacement(name string) api.NodeReplacement {
	offer := func(zone, kind string, price float64) api.InstanceOffering {
		return api.InstanceOffering{Zone: zone, CapacityType: kind, Price: strict.Price(price)}
	}
	amounts := api.Amounts{"cpu": 8000, "memory": 32 << 30, "pods": 110}
	return api.NodeReplacement{
		Name: name, Pool: "general", InstanceTypes: []string{"d8", "e8"},
		Requirements: []api.NodeRequirement{{Key: "tier", Operator: "In", Values: []string{"gold", "blue"}}},
		Types: []api.LaunchType{
			{Name: "d8", Capacity: amounts, Allocatable: amounts, Labels: map[string]string{corev1.LabelArchStable: "arm64"}, Offerings: []api.InstanceOffering{
				offer("z-b", api.CapacitySpot, 0.1), offer("z-a", api.CapacityOnDemand, 0.3),
			}},
			{Name: "e8", Capacity: amounts, Allocatable: amounts, Offerings: []api.InstanceOffering{offer("z-a", api.CapacityOnDemand, 0.4)}},
		},
	}
}

// draining has nodes deleted at once.
func draining(id string, nodes ...string) api.Disruption {
	return api.Disruption{ID: id, Reason: api.ReasonEmpty, Method: "empty", Phase: api.PhaseDraining, Nodes: nodes}
}

// launching has nodes replaced by one that is launched before they go.
func launching(id string, nodes ...string) api.Disruption {
	d := draining(id, nodes...)
	d.Phase, d.Replacements = api.PhaseLaunching, []api.NodeReplacement{replacement(id + "-0")}
	return d
}

func in(d api.Disruption, phase string) api.Disruption {
	d.Phase = phase
	return d
}

func (s *scene) result(id string) (api.DisruptionResult, error) {
	var r api.DisruptionResult
	entry, ok := s.store.Results.Get(subjects.ResultKey("berlin", subjects.CommandDisruption, id))
	if !ok {
		return r, fmt.Errorf("no result of %s", id)
	}
	return r, json.Unmarshal(entry.Value, &r)
}

// expect waits for a result that holds.
func (s *scene) expect(id string, holds func(r *api.DisruptionResult) bool) api.DisruptionResult {
	s.t.Helper()
	var last api.DisruptionResult
	s.eventually(func() error {
		r, err := s.result(id)
		if last = r; err == nil && !holds(&r) {
			err = fmt.Errorf("result of %s is %+v", id, r)
		}
		return err
	})
	return last
}

func (s *scene) phase(id, phase string) api.DisruptionResult {
	s.t.Helper()
	r := s.expect(id, func(r *api.DisruptionResult) bool { return r.Phase == phase })
	require.Equal(s.t, api.NewHeader(api.KindDisruptionResult), r.Header)
	require.Equal(s.t, "berlin", r.Member)
	require.False(s.t, r.Changed.IsZero())
	return r
}

func (s *scene) eventually(f func() error) {
	s.t.Helper()
	bustest.Eventually(s.t, f)
}

// node is one of the member, nil when there is none.
func (s *scene) node(name string) *corev1.Node {
	s.t.Helper()
	survey, err := s.member.Survey(s.t.Context())
	require.NoError(s.t, err)
	for _, n := range survey.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// expectNode waits for a node that holds.
func (s *scene) expectNode(name string, holds func(*corev1.Node) bool) *corev1.Node {
	s.t.Helper()
	var last *corev1.Node
	s.eventually(func() error {
		last = s.node(name)
		if last == nil || !holds(last) {
			return fmt.Errorf("node %s is %+v", name, last)
		}
		return nil
	})
	return last
}

// left waits until a node is gone, and its machine with it.
func (s *scene) left(names ...string) {
	s.t.Helper()
	s.eventually(func() error {
		for _, name := range names {
			if n := s.node(name); n != nil || s.member.HasMachine(name) {
				return fmt.Errorf("node %s is %+v; machine %t", name, n, s.member.HasMachine(name))
			}
		}
		return nil
	})
}

// plant puts objects on the member.
func (s *scene) plant(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		raw, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(s.t, err)
		o := &unstructured.Unstructured{}
		require.NoError(s.t, o.UnmarshalJSON(raw))
		s.member.Plant(o)
	}
}

// deployment has pods of 1 CPU each, which carry the label app=NAME.
func deployment(name string, replicas int, more string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}%[3]s}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
`, name, replicas, more)
}

// budget lets so many pods of a deployment be missing.
func budget(name, maxUnavailable string) string {
	return fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[1]s, namespace: default}
spec: {maxUnavailable: %[2]s, selector: {matchLabels: {app: %[1]s}}}
`, name, maxUnavailable)
}

// podsOn are the names of the apps whose pods run on a node, sorted.
func (s *scene) podsOn(node string) []string {
	s.t.Helper()
	survey, err := s.member.Survey(s.t.Context())
	require.NoError(s.t, err)
	var out []string
	for _, p := range survey.Pods {
		if p.Spec.NodeName == node && p.DeletionTimestamp == nil {
			out = append(out, p.Labels["app"])
		}
	}
	slices.Sort(out)
	return out
}

func (s *scene) expectPods(node string, apps ...string) {
	s.t.Helper()
	s.eventually(func() error {
		if got := s.podsOn(node); !slices.Equal(got, apps) {
			return fmt.Errorf("on node %s run %v, not %v", node, got, apps)
		}
		return nil
	})
}

func taintedBy(n *corev1.Node) string {
	if !tainted(n) {
		return ""
	}
	return n.Annotations[api.AnnotationDisruption]
}

func (s *scene) fault(words ...string) {
	s.t.Helper()
	f, err := faults.Parse(words)
	require.NoError(s.t, err)
	s.member.SetFaults(f)
}

// ledger is what the newest agent remembers.
func (s *scene) ledger() *ledger { return s.agent.nodes.lifecycle.ledger }

// purge makes the hub lose the result of a disruption, and waits until it is told another time.
func (s *scene) purge(id string) {
	s.t.Helper()
	s.eventually(bustest.LoseResult(s.t, s.store, "berlin", subjects.CommandDisruption, id))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func text(t *testing.T, path string) string {
	t.Helper()
	read, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(read)
}
