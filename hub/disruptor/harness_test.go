package disruptor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/holds"
	"flotilla/bus/loop"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// clock is the real one, that a test can put forward.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return elsewhen.Now().Add(c.ahead)
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// quick are options that let what is due happen at once.
func quick() Options {
	return Options{Interval: 10 * time.Millisecond, ValidationWait: time.Millisecond}
}

// harness is a leader's store with a disruptor on it; the test plays door, registrar, runner and agents.
type harness struct {
	t       testing.TB
	server  *bustest.Server
	store   *store.Store
	options Options
	clock   *clock
	room    *Disruptor
	agents  map[string]*member.Conn
	boots   map[string]*boot
	stop    func()
}

// boot is what a test's agent counts.
type boot struct {
	name      string
	inventory uint64
	nodes     map[string]uint64
}

func newHarness(t testing.TB, o Options, members ...string) *harness {
	t.Helper()
	server := bustest.Start(t)
	h := &harness{t: t, server: server, store: server.Lead(t), options: o, clock: &clock{}, agents: map[string]*member.Conn{}, boots: map[string]*boot{}}
	h.catalog()
	for _, m := range members {
		h.member(m, nil)
	}
	h.run()
	return h
}

// run starts a disruptor, until stop or the end of the test.
func (h *harness) run() {
	h.options.Log, h.options.Now = h.store.Conn.Log, h.clock.Now
	room := New(h.store, h.options)
	h.room = room
	h.stop = bustest.Room(h.t, room)
}

// ready waits until the room answers questions.
func (h *harness) ready() {
	h.t.Helper()
	bustest.Eventually(h.t, h.room.ready)
}

// put writes a record whatever its revision; nil deletes it.
func (h *harness) put(key string, value any) {
	h.t.Helper()
	bustest.Overwrite(h.t, h.store, key, value)
}

func (h *harness) spec(key, apiVersion, kind, name string, object any, change ...func(*api.Spec)) {
	h.t.Helper()
	body, err := json.Marshal(object)
	require.NoError(h.t, err)
	s := api.Spec{
		Header: api.NewHeader(api.KindSpec), Object: api.ObjectRef{APIVersion: apiVersion, Kind: kind, Name: name},
		UID: "uid-" + name, Generation: 1, Body: body,
	}
	for _, c := range change {
		c(&s)
	}
	h.put(key, s)
}

func deleted(s *api.Spec) { s.Deleted = &metav1.Time{Time: elsewhen.Now()} }

func (h *harness) member(name string, labels map[string]string) {
	h.t.Helper()
	h.spec(subjects.MemberSpecs.Key(name), "", api.KindMemberCluster, name, map[string]any{"metadata": map[string]any{"labels": labels}})
	h.state(name, api.MemberReady)
}

func (h *harness) state(name string, state api.MemberState) {
	h.t.Helper()
	h.put(subjects.Members.Key(name), api.MemberRecord{Name: name, UID: "uid-" + name, State: state})
}

// sizes are the types of the catalog, by cores.
var sizes = []int{2, 4, 8, 16}

func (h *harness) catalog() {
	h.t.Helper()
	c := &api.InstanceCatalog{}
	for _, cores := range sizes {
		c.Spec.Types = append(c.Spec.Types, api.InstanceType{
			Name: fmt.Sprintf("d%d", cores), CPU: strict.Amount(fmt.Sprint(cores)), Memory: strict.Amount(fmt.Sprintf("%dGi", 4*cores)),
			Offerings: []api.InstanceOffering{{Zone: "z-a", CapacityType: api.CapacityOnDemand, Price: strict.Price(0.05 * float64(cores))}},
		})
	}
	h.spec(subjects.InstanceCatalogSpecs.Key("all"), api.VersionFlotilla, api.KindInstanceCatalog, "all", c)
}

// pool makes a pool that is consolidated at once, within a budget.
func (h *harness) pool(name, budget string, change ...func(*api.NodePool)) {
	h.t.Helper()
	h.poolSpec(name, budget, change)
}

func (h *harness) poolSpec(name, budget string, change []func(*api.NodePool), head ...func(*api.Spec)) {
	h.t.Helper()
	p := &api.NodePool{}
	p.Spec.Disruption = &api.PoolDisruption{ConsolidateAfter: "0s", Budgets: []api.DisruptionBudget{{Nodes: new(budget)}}}
	p.Spec.Template.Spec.ExpireAfter = api.Never
	p.Spec.Template.Spec.Requirements = []api.NodeRequirement{{Key: api.LabelCapacityType, Operator: "In", Values: []string{api.CapacityOnDemand}}}
	for _, c := range change {
		c(p)
	}
	h.spec(subjects.PoolSpecs.Key(name), "karpenter.sh/v1", api.KindNodePool, name, p, head...)
}

func (h *harness) agent(member string) *member.Conn {
	if h.agents[member] == nil {
		h.agents[member] = h.server.Agent(h.t, member)
	}
	return h.agents[member]
}

func (h *harness) boot(member string) *boot {
	b := h.boots[member]
	if b == nil {
		b = &boot{name: "b0", nodes: map[string]uint64{}}
		h.boots[member] = b
	}
	return b
}

// aNode is a node of a pool; pods ask for millicores.
func aNode(name, pool string, cores int, pods ...int64) api.NodeState {
	created := metav1.NewTime(elsewhen.Now().Add(-2 * time.Hour).Truncate(time.Second))
	n := api.NodeState{
		Name: name, UID: "uid-" + name, Managed: true, Ready: true, Initialized: true, Created: created, Since: created,
		Labels: map[string]string{
			api.LabelNodePool: pool, corev1.LabelInstanceTypeStable: fmt.Sprintf("d%d", cores), corev1.LabelTopologyZone: "z-a",
			api.LabelCapacityType: api.CapacityOnDemand, corev1.LabelHostname: name, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		},
		Capacity:    api.Amounts{"cpu": int64(cores) * 1000, "memory": int64(cores) << 32, "pods": 110},
		Allocatable: api.Amounts{"cpu": int64(cores)*1000 - 100, "memory": int64(cores)<<32 - 10<<20, "pods": 110},
	}
	for i, cpu := range pods {
		n.Pods = append(n.Pods, api.PodState{
			Namespace: "default", Name: fmt.Sprintf("%s-%d", name, i), Owner: "ReplicaSet", OwnerName: "web", Phase: "Running",
			Labels: map[string]string{"app": "web"}, Requests: api.Amounts{"cpu": cpu, "memory": 1 << 20},
		})
	}
	return n
}

// event lets a member's agent tell of a node, without an inventory.
func (h *harness) event(member string, n api.NodeState) {
	h.t.Helper()
	b := h.boot(member)
	b.nodes[n.Name]++
	h.tell(member, api.NodeEvent{Boot: b.name, Sequence: b.nodes[n.Name], At: metav1.NewTime(h.clock.Now()), Node: n})
}

func (h *harness) tell(member string, e api.NodeEvent) {
	h.t.Helper()
	require.NoError(h.t, h.agent(member).PutNodeEvent(bustest.Context(h.t), e))
}

// inventory lets a member's agent say which nodes there are.
func (h *harness) inventory(member string) {
	h.t.Helper()
	b := h.boot(member)
	b.inventory++
	require.NoError(h.t, h.agent(member).PutNodeInventory(bustest.Context(h.t), api.NodeInventory{
		Boot: b.name, Sequence: b.inventory, At: metav1.NewTime(h.clock.Now()), Nodes: b.nodes,
	}))
}

// nodes lets a member's agent tell of nodes, and then that these are all.
func (h *harness) nodes(member string, nodes ...api.NodeState) {
	h.t.Helper()
	for _, n := range nodes {
		h.event(member, n)
	}
	h.inventory(member)
}

// gone lets a member's agent say that nodes have left.
func (h *harness) gone(member string, names ...string) {
	h.t.Helper()
	b := h.boot(member)
	for _, name := range names {
		b.nodes[name]++
		h.tell(member, api.NodeEvent{Boot: b.name, Sequence: b.nodes[name], At: metav1.NewTime(h.clock.Now()), Gone: true, Node: api.NodeState{Name: name}})
		delete(b.nodes, name)
	}
	h.inventory(member)
}

// result lets a member's agent say how a disruption goes.
func (h *harness) result(member, id, phase string, change ...func(*api.DisruptionResult)) {
	h.t.Helper()
	r := api.DisruptionResult{Header: api.NewHeader(api.KindDisruptionResult), Member: member, ID: id, Phase: phase, Changed: metav1.NewTime(elsewhen.Now())}
	for _, c := range change {
		c(&r)
	}
	require.NoError(h.t, h.agent(member).PutResult(bustest.Context(h.t), subjects.CommandDisruption, id, r))
}

func goneAre(names ...string) func(*api.DisruptionResult) {
	return func(r *api.DisruptionResult) { r.Gone = names }
}

func replacementIs(one api.NodeReplacement) func(*api.DisruptionResult) {
	return func(r *api.DisruptionResult) { r.Replacements = []api.NodeReplacement{one} }
}

// finish lets the agent drain all nodes of a disruption.
func (h *harness) finish(member string, d *api.Disruption) {
	h.t.Helper()
	h.gone(member, d.Nodes...)
	h.result(member, d.ID, api.PhaseDone, goneAre(d.Nodes...))
}

func (h *harness) record(member string) api.DisruptionRecord {
	record, _, _ := store.TableOf[api.DisruptionRecord](h.store.State, subjects.Disruptions).Get(member)
	return record
}

// text of a record: "empty n1,n2 Draining; single n3 Launching".
func text(r *api.DisruptionRecord) string {
	var parts []string
	for i := range r.Disruptions {
		d := &r.Disruptions[i]
		parts = append(parts, fmt.Sprintf("%s %s %s", d.Method, strings.Join(d.Nodes, ","), d.Phase))
	}
	return strings.Join(parts, "; ")
}

// eventually waits until the record of a member reads as wanted.
func (h *harness) eventually(member, want string) api.DisruptionRecord {
	h.t.Helper()
	var found api.DisruptionRecord
	bustest.Eventually(h.t, func() error {
		found = h.record(member)
		if got := text(&found); got != want {
			return fmt.Errorf("the record of %s is %q, wanted %q; stale: %q", member, got, want, found.Stale)
		}
		return nil
	})
	return found
}

// stale waits until the record of a member says why nothing is decided.
func (h *harness) stale(member, want string) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		if r := h.record(member); !strings.Contains(r.Stale, want) || (want == "") != (r.Stale == "") {
			return fmt.Errorf("%s is stale because of %q, wanted %q; %s", member, r.Stale, want, text(&r))
		}
		return nil
	})
}

// decided waits until a decision about a member was made that leaves a node for a reason.
func (h *harness) decided(member, node, code string) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		decision := h.room.decision(member)
		for _, v := range decision.Verdicts {
			if v.Node != node {
				continue
			}
			if slices.ContainsFunc(v.Refusals, func(r refusal) bool { return string(r.Code) == code }) {
				return nil
			}
			return fmt.Errorf("node %s of %s: %+v, wanted %s", node, member, v, code)
		}
		return fmt.Errorf("nothing is decided about node %s of %s", node, member)
	})
}

// locked waits until a member's lock is held by an owner, "" for nobody.
func (h *harness) locked(member, owner string) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		if lock, _ := holds.LocksOf(h.store.State.As(subjects.Disruptor)).Get(member); lock.Owner != owner {
			return fmt.Errorf("member %s is held by %q, wanted %q", member, lock.Owner, owner)
		}
		return nil
	})
}

// told waits until the audit stream has an event about an object that holds all words.
func (h *harness) told(object string, words ...string) {
	h.t.Helper()
	client := h.server.Inspector(h.t)
	bustest.Eventually(h.t, func() error {
		events, err := streams.ReadAudit(bustest.Context(h.t), client, streams.AuditQuery{Object: object})
		var all []string
		for _, e := range events {
			line := e.Reason + ": " + e.Message + " by " + e.By
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return nil
			}
			all = append(all, line)
		}
		return fmt.Errorf("no event of %s tells %q (%w):\n%s", object, words, err, strings.Join(all, "\n"))
	})
}

// toldBefore waits until an event of an object tells what another room saw, and checks that one with this
// reason stands before it.
func (h *harness) toldBefore(object, seen, reason string) {
	h.t.Helper()
	lines := bustest.EventsUntil(h.t, h.store.Conn, object, "Seen: "+seen)
	told := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, reason+": ") })
	require.True(h.t, told, "%s is told before %q is seen:\n%s", reason, seen, strings.Join(lines, "\n"))
}

// hold takes a turn, as a pass does that decides.
func hold(t testing.TB, turn loop.Turn) {
	t.Helper()
	require.NoError(t, turn.Take(bustest.Context(t)))
}

// isFree takes a turn if nobody holds it.
func isFree(turn loop.Turn) bool {
	ctx, end := context.WithTimeout(context.Background(), time.Millisecond)
	defer end()
	return turn.Take(ctx) == nil
}
