package orchestration_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/sim"
	"flotilla/core/simulate/simulatetest"
)

// simTick is how much time passes between two looks at the world.
const simTick = 5 * time.Second

// simFleetBudget is the budget that the nodes of pool a share over all members.
const simFleetBudget = "2"

// faults are what can go wrong.
type faults struct {
	lag      bool // messages and commands come late, in their order
	messages bool // lag alone, come in another order, come twice, are lost to one hub until the next resync
	crashes  bool // of hubs and agents, anywhere
	launches bool // fail, hang, never become ready
	people   bool // delete nodes and pools, start and stop pods, protect them; machines die
	updates  bool // runs take the lock of a member
	asleep   bool // the scheduler of a member rests seven minutes of ten
	static   bool // some nodes are of a static pool, whose drift looks for no places of pods
}

var allFaults = faults{messages: true, crashes: true, launches: true, people: true, updates: true, static: true}

// world is a fleet with its two hubs, from a seed.
type world struct {
	t      *testing.T
	seed   uint64
	luck   *sim.Source
	now    time.Time
	faults faults
	lands  []*land
	pools  []*api.NodePool
	parsed []*capacity.Pool
	prices map[string]float64 // by type and zone
	store  simStore
	hubs   [2]*simHub
	trail  []string

	ids        map[string]bool
	requests   int
	begun      map[string]int // by method
	spared     int            // pods that wait and have a place, when something went
	phases     map[string]int
	lostWrites int
}

func newWorld(t *testing.T, seed uint64, members int, f faults) *world {
	w := &world{
		t: t, seed: seed, luck: sim.NewSource(seed), now: simulatetest.Now, faults: f, ids: map[string]bool{}, begun: map[string]int{}, phases: map[string]int{},
		store: simStore{records: map[string]simRecord{}, locks: map[string]string{}, results: map[string]map[string]*api.DisruptionResult{}, last: map[string]map[string]simMessage{}},
	}
	w.drawPools()
	for i := range members {
		w.lands = append(w.lands, w.drawLand(fmt.Sprint("m", i)))
	}
	for i := range w.hubs {
		w.hubs[i] = &simHub{name: fmt.Sprint("hub-", i)}
		w.hubs[i].start(w)
	}
	w.hubs[0].lead(w)
	return w
}

// String says how to see the same again.
func (w *world) String() string {
	return fmt.Sprintf("seed %d at %s\n%s", w.seed, w.now.Format("15:04:05"), strings.Join(w.trail, "\n"))
}

func (w *world) note(format string, args ...any) {
	w.trail = append(w.trail, w.now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
	if len(w.trail) > 60 {
		w.trail = w.trail[1:]
	}
}

// drawPools makes four pools: a with a number as its budget and a share of the fleet's, b with a
// percentage and a window, c that expires, d with a fixed number of nodes.
func (w *world) drawPools() {
	quiet := sim.Pick(w.luck, "0s", "10s", "30s")
	w.pools = []*api.NodePool{
		simulatetest.Pool("a", func(p *api.NodePool) {
			p.Annotations = map[string]string{api.AnnotationFleetBudget: "shared=" + simFleetBudget}
			p.Spec.Disruption.ConsolidateAfter = quiet
			p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new(sim.Pick(w.luck, "1", "2", "3"))}, {Nodes: new("1"), Reasons: []string{api.ReasonDrifted}}}
		}),
		simulatetest.Pool("b", func(p *api.NodePool) {
			p.Spec.Disruption.ConsolidationPolicy = sim.Pick(w.luck, api.WhenEmpty, api.WhenEmptyOrUnderutilized, api.Balanced)
			p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new(sim.Pick(w.luck, "20%", "50%"))}, simulatetest.Timed("0", "*/20 * * * *", "5m")}
		}),
		simulatetest.Pool("c", func(p *api.NodePool) {
			p.Spec.Template.Spec.ExpireAfter = sim.Pick(w.luck, "150m", api.Never)
			p.Spec.Disruption.ConsolidateAfter = sim.Pick(w.luck, api.Never, "1m")
			p.Spec.Disruption.Budgets = nil
		}),
		simulatetest.Pool("d", func(p *api.NodePool) { p.Spec.Replicas = new(int32) }),
	}
	w.parse()
}

func (w *world) parse() {
	w.parsed, w.prices = nil, map[string]float64{}
	types := simulatetest.Catalog()
	for _, kind := range types.Spec.Types {
		for _, o := range kind.Offerings {
			w.prices[kind.Name+o.Zone] = float64(o.Price)
		}
	}
	catalog := capacity.NewCatalog(types)
	for _, p := range w.pools {
		w.parsed = append(w.parsed, capacity.NewPool(p, catalog, capacity.PoolOptions{Zones: time.LoadLocation}))
	}
}

func (w *world) drawLand(name string) *land {
	l := &land{name: name, nodes: map[string]*realNode{}, launches: map[string]*realLaunch{}}
	l.agent.ledger = map[string]*simDeed{}
	l.agent.start()
	pools := []string{"a", "a", "a", "b", "b", "c", "c", ""}
	if w.faults.static {
		pools = append(pools, "d")
	}
	for i := range 4 + w.luck.Below(7) {
		n := simulatetest.Node(fmt.Sprintf("n%02d", i), sim.Pick(w.luck, "d2", "d4", "d8", "f2", "f4", "e4"), sim.Pick(w.luck, "z-a", "z-b", "z-c"), sim.Pick(w.luck, pools...))
		n.UID = name + n.Name
		n.Created = metav1.NewTime(w.now.Add(-time.Duration(w.luck.Below(150)) * time.Minute))
		n.Since = n.Created
		if w.luck.Chance(6) {
			n.ProviderDrift = "ImageDrifted"
		}
		if w.luck.Chance(8) {
			n.TerminationGracePeriod = "10m"
		}
		l.nodes[n.Name] = &realNode{state: *n}
	}
	for i := range w.luck.Below(4 * len(l.nodes)) {
		l.pods = append(l.pods, w.drawPod(fmt.Sprintf("p%02d", i)))
	}
	l.schedule(w.now.Add(-time.Hour))
	l.pods = slices.DeleteFunc(l.pods, func(p *realPod) bool { return p.on == "" })
	if w.luck.Chance(2) {
		l.budgets = []realBudget{{app: "x", least: w.luck.Below(4)}}
	}
	return l
}

func (w *world) drawPod(base string) *realPod {
	app := sim.Pick(w.luck, "x", "y", "z")
	state := simulatetest.Pod(base, int64(100+100*w.luck.Below(12)), simulatetest.Labelled(app))
	switch w.luck.Below(10) {
	case 0:
		simulatetest.Apart(app, corev1.LabelHostname)(&state)
	case 1:
		state.NodeSelector = map[string]string{corev1.LabelTopologyZone: sim.Pick(w.luck, "z-a", "z-b", "z-c")}
	case 2:
		state.Ports = []api.HostPort{{Port: 80}}
	case 3:
		state.Owner = "DaemonSet"
	}
	state.UID = base
	return &realPod{state: state, base: base}
}

// send stores a message and gives it to both hubs, unless it is lost on the way to one.
func (w *world) send(l *land, m simMessage) {
	subject := ""
	if m.event != nil {
		subject = m.event.Node.Name
	}
	if w.store.last[l.name] == nil {
		w.store.last[l.name] = map[string]simMessage{}
	}
	w.store.stored++
	m.number = w.store.stored
	w.store.last[l.name][subject] = m
	for _, h := range w.hubs {
		if !w.faults.messages || !w.luck.Chance(40) {
			h.inbox[l.name] = append(h.inbox[l.name], m)
		}
	}
}

// sendResult stores a result; sometimes one from before comes after it once more.
func (w *world) sendResult(l *land, r *api.DisruptionResult) {
	results := maps.Clone(w.store.results[l.name])
	if results == nil {
		results = map[string]*api.DisruptionResult{}
	}
	if old := results[r.ID]; old == nil || !w.faults.messages || !w.luck.Chance(10) {
		results[r.ID] = r
	} else {
		w.note("%s: a late result of %s, %s, hides %s", l.name, r.ID, old.Phase, r.Phase)
	}
	w.store.results[l.name] = results
	for _, h := range w.hubs {
		h.rest[l.name] = simRest{news: true}
	}
}

// dispatch gives an agent the command that a record stands for; an older one is none.
func (w *world) dispatch(l *land) {
	a := &l.agent
	if (w.faults.messages || w.faults.lag) && !w.luck.Chance(3) {
		return
	}
	r := w.store.records[l.name]
	if a.command != nil && a.command.order >= int64(r.revision) {
		return
	}
	c := &simCommand{order: int64(r.revision), pools: r.record.Pools}
	for _, d := range r.record.Disruptions {
		if d.Ended.IsZero() {
			c.disruptions = append(c.disruptions, d)
		}
	}
	a.command = c
}

// tick lets simTick pass.
func (w *world) tick() {
	w.now = w.now.Add(simTick)
	for _, l := range w.lands {
		w.happen(l)
		l.kubelet(w.now)
		if l.agent.up {
			w.dispatch(l)
			w.act(l)
		}
		if !w.faults.asleep || w.now.Minute()%10 >= 7 {
			l.schedule(w.now)
		}
		if l.agent.up {
			w.speak(l)
		}
	}
	w.elect()
	for _, h := range w.hubs {
		if h.term == 0 {
			continue
		}
		for _, l := range w.lands {
			if h.term != 0 {
				h.pass(w, l)
			}
		}
	}
	for _, l := range w.lands {
		w.requireOrder(l)
	}
}

// elect makes the other hub lead when nobody does, and now and then though somebody does.
func (w *world) elect() {
	if h := w.store.holder; h.term != w.store.term || w.faults.crashes && w.luck.Chance(80) {
		w.hubs[w.luck.Below(2)].lead(w)
	}
}

// run lets n ticks pass.
func (w *world) run(n int) {
	for range n {
		w.tick()
	}
}

// calm ends all faults: what is silent comes back, what is held is given up.
func (w *world) calm() {
	w.faults = faults{}
	for _, l := range w.lands {
		l.awaited = false
		if !l.agent.up {
			l.agent.start()
		}
		if w.store.locks[l.name] != simOwner {
			delete(w.store.locks, l.name)
		}
		for _, p := range l.pods {
			delete(p.state.Annotations, api.AnnotationDoNotDisrupt)
		}
		for i := range l.budgets {
			l.budgets[i].least = 0
		}
	}
	for _, h := range w.hubs {
		h.start(w)
	}
	w.hubs[0].lead(w)
	require.NotEmpty(w.t, w.lands)
}
