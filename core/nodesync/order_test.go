package nodesync

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/sim"
)

// Whatever was stored last, the hub knows of every pod that moved: after each message its nodes and the
// pods without one hold some pod of every workload that it held before and that still runs.
func TestNoPodThatMovesIsMissed(t *testing.T) {
	for seed := range uint64(150) {
		g := newGame(t, seed)
		for range 60 {
			g.play()
		}
		require.Empty(t, g.wrong, "seed %d", seed)
		g.settle()
	}
}

// The same of a hub that does not take everything, of which the agent does not know what it took, and that
// loses some of it: whenever it would act.
func TestNoPodIsMissedByAHubThatActs(t *testing.T) {
	stale := 0
	for seed := range uint64(150) {
		g := newGame(t, seed)
		g.faulty = true
		for range 60 {
			g.play()
		}
		require.Empty(t, g.wrong, "seed %d", seed)
		g.settle()
		stale += g.stale
	}
	t.Log(stale)
}

// A hub that refuses a node holds others up that lost pods to it no longer than until it is told so, and
// does not act until it has the node.
func TestANodeThatIsRefusedHoldsNothingUp(t *testing.T) {
	for _, known := range []bool{true, false} {
		g := newGame(t, 1)
		g.calm = true
		g.nodes, g.slots = map[string]bool{"a": true, "b": known}, []slot{{on: "a", there: true}}
		g.round(true)
		g.now = g.now.Add(gameInterval)
		g.round(true)
		require.Empty(t, g.view.Stale(g.now, time.Hour))
		g.nodes["b"], g.refused = true, map[string]bool{"b": true}
		g.slots[0] = slot{on: "b", there: true, made: 1}
		for range 3 {
			g.now = g.now.Add(gameInterval)
			g.round(true)
		}
		a, _ := g.view.Cluster.Node("a")
		require.Empty(t, a.Pods, "the other node is told (known: %v)", known)
		require.Contains(t, g.view.Stale(g.now, time.Hour), "node b", "known: %v", known)
		require.ErrorIs(t, g.fault, errRefused)
		g.refused = nil
		g.settle()
	}
}

const (
	gameInterval = 5 * time.Second
	gameRetry    = time.Second
)

// slot is a pod of a workload: where one is away another is made. Where is on, "" for nowhere.
type slot struct {
	there bool
	on    string
	// made counts its pods; born is the number of the first since it was there last.
	made, born int
	// stateful pods come again only when the old one is gone, others at once, while the old one ends on
	// the node it was on.
	stateful, ending bool
	endsOn           string
}

// game is a member with nodes and pods that move at random, what its agent makes of it, and a hub that checks each message.
type game struct {
	t      *testing.T
	luck   *sim.Source
	now    time.Time
	next   time.Time // when the agent wants to tell more
	again  time.Time // when the agent tries again what failed
	fault  error     // of the last round
	s      *Sync
	nodes  map[string]bool
	slots  []slot
	faulty bool
	calm   bool

	pressed  bool
	refused  map[string]bool
	view     *cluster.View
	listed   api.NodeInventory
	at       map[string]time.Time // when a node was told
	since    map[string]time.Time // since when a node is to be told
	looked   []slot               // as of the agent's last look
	held     map[string]bool      // slots of that of which the hub held a pod
	wrong    []string
	stale    int
	messages int
}

func newGame(t *testing.T, seed uint64) *game {
	g := &game{
		t: t, luck: sim.NewSource(seed), now: noon, nodes: map[string]bool{}, view: cluster.NewView(),
		at: map[string]time.Time{}, since: map[string]time.Time{}, held: map[string]bool{},
	}
	g.s = New("b", Pace{Interval: gameInterval, Resync: time.Hour}, nil)
	for i := range 2 + g.luck.Below(4) {
		g.nodes[fmt.Sprint("n", i)] = true
	}
	for range 2 + g.luck.Below(6) {
		g.slots = append(g.slots, slot{there: true, on: g.somewhere(), stateful: g.luck.Chance(3)})
	}
	return g
}

// somewhere is a node, or none.
func (g *game) somewhere() string {
	return sim.Pick(g.luck, append(slices.Sorted(maps.Keys(g.nodes)), "")...)
}

// play lets something happen, and the agent do something.
func (g *game) play() {
	for range g.luck.Below(4) {
		g.happen()
	}
	if g.faulty && g.luck.Chance(6) {
		g.refused = map[string]bool{sim.Pick(g.luck, "n0", "n1", "", "none"): g.luck.Chance(2)}
	}
	g.pass(time.Duration(g.luck.Below(int(gameInterval))))
	switch {
	case g.luck.Chance(4):
		g.pressed = true
		g.see()
		_, _ = g.carryOut(g.s.Flush(fmt.Sprint("n", g.luck.Below(6)), g.now))
		g.pressed = false
	case g.faulty && g.luck.Chance(20):
		g.s.Forget()
	default:
		g.round(true)
	}
}

// pass lets time go by, in which the agent tells more whenever it wants to.
func (g *game) pass(d time.Duration) {
	for until := g.now.Add(d); !g.next.IsZero() && g.next.Before(until); g.round(false) {
		if !g.next.After(g.now) {
			g.wrong = append(g.wrong, "it is to be told at a time that is over")
			break
		}
		g.now, d = g.next, until.Sub(g.next)
	}
	g.now = g.now.Add(d)
}

// round is one pass of the agent: a look, if it is to look, and a telling, unless one failed just now.
func (g *game) round(look bool) {
	if look {
		g.see()
	}
	if g.now.Before(g.again) {
		g.next = g.again
	} else if g.next, g.fault = g.carryOut(g.s.Round(g.now)); g.fault != nil {
		g.again = g.now.Add(gameRetry)
		g.next = g.again
	}
	maps.DeleteFunc(g.since, func(name string, _ time.Time) bool { return g.s.nodes[name] == nil })
	for name, t := range g.s.nodes {
		if t.stored >= t.version {
			delete(g.since, name)
		} else if !g.since[name].After(t.told) {
			g.since[name] = g.now
		} else if waits := g.now.Sub(g.since[name]); !g.faulty && g.refused == nil && waits > 3*gameInterval {
			g.wrong = append(g.wrong, fmt.Sprintf("node %s waits for %s", name, waits))
		}
	}
}

func (g *game) see() {
	seen := cluster.Observe(g.listing())
	g.s.See(&seen, g.now)
}

// carryOut takes the steps of a round, the nodes of one in any order, until as many were refused as are told at once.
func (g *game) carryOut(r *Round) (time.Time, error) {
	var fault error
	for {
		step, more := r.Next(fault, g.now)
		if !more {
			return r.Result()
		}
		fault = nil
		if step.Inventory != nil {
			if fault = g.take(step.Inventory); fault == nil {
				g.s.TookInventory(step.Inventory, "", g.now)
			}
			continue
		}
		names := slices.Clone(step.Nodes)
		sim.Shuffle(g.luck, names)
		for faults := 0; len(names) > 0 && faults < 4; names = names[1:] {
			if err := g.tell(names[0]); err != nil {
				faults++
				fault = err
			}
		}
	}
}

// tell tells the newest state of a node.
func (g *game) tell(name string) error {
	e, due := g.s.Event(name)
	if !due {
		return nil
	}
	if err := g.takeEvent(&e); err != nil {
		g.s.Refused(name)
		return err
	}
	g.s.Took(&e, "", g.now)
	return nil
}

func (g *game) happen() {
	s := &g.slots[g.luck.Below(len(g.slots))]
	switch g.luck.Below(12) {
	case 0:
		g.nodes[fmt.Sprint("n", g.luck.Below(6))] = true
	case 1:
		gone := fmt.Sprint("n", g.luck.Below(6))
		delete(g.nodes, gone)
		for i := range g.slots {
			if s := &g.slots[i]; s.on == gone {
				g.move(s, false)
			}
		}
	case 2:
		s.there = !s.there
		*s = slot{there: s.there, on: g.somewhere(), made: s.made + 1, born: s.made + 1, stateful: s.stateful}
	case 3:
		s.endsOn = ""
	default:
		g.move(s, true)
	}
}

// move makes a new pod in place of that of a slot.
func (g *game) move(s *slot, ends bool) {
	switch {
	case !s.there:
	case s.on == "":
		s.on = g.somewhere() // it was waiting
	case s.stateful && ends && !s.ending:
		s.ending = true
	default:
		old := s.on
		*s = slot{there: true, on: g.somewhere(), made: s.made + 1, born: s.born, stateful: s.stateful}
		if ends && !s.stateful {
			s.endsOn = old
		}
	}
}

// listing is the member as it is.
func (g *game) listing() *cluster.Listing {
	s := &cluster.Listing{}
	g.looked = slices.Clone(g.slots)
	for _, name := range slices.Sorted(maps.Keys(g.nodes)) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{api.LabelNodePool: "p"}}}
		s.Nodes = append(s.Nodes, n)
		if !g.calm {
			s.Pods = append(s.Pods, gamePod("daemon-"+name+fmt.Sprint(g.luck.Below(9)), "DaemonSet", name, false))
		}
	}
	for i := range g.slots {
		o := &g.slots[i]
		kind := "ReplicaSet"
		if o.stateful {
			kind = "StatefulSet"
		}
		if o.there {
			s.Pods = append(s.Pods, gamePod(fmt.Sprintf("%d-%d", i, o.made), kind, o.on, o.ending))
		}
		if o.there && g.nodes[o.endsOn] {
			s.Pods = append(s.Pods, gamePod(fmt.Sprintf("%d-%d", i, o.made-1), kind, o.endsOn, true))
		}
	}
	return s
}

func gamePod(name, owner, on string, ending bool) *corev1.Pod {
	yes := true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{Kind: owner, Name: "o", Controller: &yes}},
	}}
	p.Spec.NodeName = on
	if ending {
		p.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	if on == "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	return p
}

var errRefused = errors.New("refused")

func (g *game) takeEvent(e *api.NodeEvent) error {
	name := e.Node.Name
	return g.store(name, func() {
		if soon := g.now.Sub(g.at[name]) < gameInterval; soon && !g.pressed && !g.faulty {
			g.wrong = append(g.wrong, fmt.Sprintf("node %s is told %s after it was", name, g.now.Sub(g.at[name])))
		}
		g.at[name] = g.now
		if e.Gone {
			delete(g.at, name) // one that comes back is another
		}
		g.view.Event(e)
	})
}

func (g *game) take(inv *api.NodeInventory) error {
	return g.store("", func() {
		g.listed = *inv
		g.view.Inventory(inv)
	})
}

// store takes a message, unless the hub refuses it; the agent may not hear of it.
func (g *game) store(name string, take func()) error {
	lost := g.faulty && !g.calm && g.luck.Chance(12)
	if g.refused[name] || lost && g.luck.Chance(2) {
		return errRefused
	}
	take()
	g.messages++
	g.check()
	if lost {
		return errRefused
	}
	return nil
}

// check is what the hub knows after each message.
func (g *game) check() {
	now := map[int]int{}
	note := func(pods []api.PodState) {
		for i := range pods {
			if p := &pods[i]; cluster.Movable(p) {
				var slot, made int
				_, _ = fmt.Sscanf(p.Name, "%d-%d", &slot, &made)
				now[slot] = max(now[slot], made)
			}
		}
	}
	for _, name := range g.view.Cluster.Names() {
		n, _ := g.view.Cluster.Node(name)
		note(n.Pods)
	}
	note(g.listed.Pending)
	if g.view.Inventoried().IsZero() || g.faulty && g.view.Stale(g.now, time.Hour) != "" {
		g.stale++
		return
	}
	for i := range g.looked {
		s := &g.looked[i]
		life := fmt.Sprint(i, " ", s.born)
		made, known := now[i]
		switch {
		case !s.there:
		case known && made >= s.born:
			g.held[life] = true
		case g.held[life]:
			g.wrong = append(g.wrong, fmt.Sprintf("after message %d, %s from the start, the hub misses pod %d of %+v", g.messages, g.now.Sub(noon), i, *s))
			delete(g.held, life)
		}
	}
}

// settle lets the agent tell all there is, and checks that the hub then knows the member as it is.
func (g *game) settle() {
	g.refused, g.calm = nil, true
	for range 8 {
		g.now = g.now.Add(time.Minute)
		g.round(true)
	}
	require.Empty(g.t, g.wrong)
	require.Empty(g.t, g.view.Stale(g.now, time.Hour))
	require.Zero(g.t, g.s.Untold())
	require.ElementsMatch(g.t, slices.Collect(maps.Keys(g.nodes)), g.view.Cluster.Names())
	var want, got []string
	for _, p := range g.listing().Pods {
		want = append(want, p.Spec.NodeName+" "+p.Name)
	}
	for _, p := range g.listed.Pending {
		got = append(got, " "+p.Name)
	}
	for name := range g.nodes {
		n, _ := g.view.Cluster.Node(name)
		for i := range n.Pods {
			got = append(got, name+" "+n.Pods[i].Name)
		}
	}
	require.ElementsMatch(g.t, want, got)
}
