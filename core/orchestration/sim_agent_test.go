package orchestration_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate/simulatetest"
)

// simAgent does on a member what its command says, and tells of the member and of what it does.
type simAgent struct {
	up   bool
	boot int
	// What it keeps on disk: the newest command it took, and what it did of each disruption.
	command *simCommand
	ledger  map[string]*simDeed
	// What it forgets when it dies.
	sequence map[string]uint64
	told     map[string]string
	pods     map[string]map[string]bool // that it told of, by node; true while they do not end
	waiting  map[string]bool            // pods without a node of the inventory that it told last
	counted  uint64
	listed   string
	resync   time.Time
}

// simCommand is what the dispatcher makes of a record.
type simCommand struct {
	order       int64
	disruptions []api.Disruption
	pools       []api.PoolTemplate
}

// simDeed is what an agent did of one disruption.
type simDeed struct {
	phase        string
	nodes        []string
	uids         map[string]string
	replacements []api.NodeReplacement
	gone         []string
	said         string
}

// simMessage is what an agent sends to the hub: one of its fields.
type simMessage struct {
	number    int // in the order in which all were stored
	event     *api.NodeEvent
	inventory *api.NodeInventory
}

func (a *simAgent) start() {
	a.up, a.boot = true, a.boot+1
	a.pods, a.waiting = map[string]map[string]bool{}, nil
	a.sequence, a.told, a.counted, a.listed, a.resync = map[string]uint64{}, map[string]string{}, 0, "", time.Time{}
	for _, d := range a.ledger {
		d.said = ""
	}
}

// act brings the member towards the newest command.
func (w *world) act(l *land) {
	a := &l.agent
	named := map[string]bool{}
	if a.command != nil {
		for i := range a.command.disruptions {
			d := &a.command.disruptions[i]
			named[d.ID] = true
			w.actOn(l, d)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.ledger)) {
		if deed := a.ledger[id]; !named[id] {
			if deed.phase == api.PhaseLaunching || deed.phase == api.PhaseDraining && !l.anyDeleted(deed) {
				l.abort(deed)
			}
			if deed.phase == api.PhaseAborted || deed.phase == api.PhaseDone {
				delete(a.ledger, id)
			}
		}
	}
	for _, name := range l.sorted() {
		if n := l.nodes[name]; n != nil && !n.deleted.IsZero() {
			w.drain(l, n)
		}
	}
	for _, deed := range a.ledger {
		if deed.phase == api.PhaseDraining {
			deed.count(l)
		}
	}
}

// actOn carries one disruption on. What was aborted or is done stays so.
func (w *world) actOn(l *land, d *api.Disruption) {
	deed := l.agent.ledger[d.ID]
	if deed == nil {
		if !d.Ended.IsZero() {
			return
		}
		deed = &simDeed{nodes: d.Nodes, uids: d.UIDs}
		l.agent.ledger[d.ID] = deed
	}
	switch {
	case deed.phase == api.PhaseDone || deed.phase == api.PhaseAborted:
	case d.Phase == api.PhaseAborted:
		l.abort(deed)
	case d.Phase == api.PhaseLaunching:
		deed.phase = api.PhaseLaunching
		l.taint(deed)
		w.launchAll(l, d, deed)
	case d.Phase == api.PhaseDraining:
		deed.phase = api.PhaseDraining
		l.taint(deed)
		for _, name := range deed.nodes {
			if n := l.mine(deed, name); n != nil && n.deleted.IsZero() {
				n.deleted = w.now
			}
		}
	}
}

// mine is a node of a deed, unless another has taken its name.
func (l *land) mine(deed *simDeed, name string) *realNode {
	if n := l.nodes[name]; n != nil && n.state.UID == deed.uids[name] {
		return n
	}
	return nil
}

func (l *land) anyDeleted(deed *simDeed) bool {
	return slices.ContainsFunc(deed.nodes, func(name string) bool {
		n := l.mine(deed, name)
		return n == nil || !n.deleted.IsZero()
	})
}

var simTaint = corev1.Taint{Key: api.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}

func isDisrupted(t corev1.Taint) bool { return t.Key == api.TaintDisrupted }

func (l *land) taint(deed *simDeed) {
	for _, name := range deed.nodes {
		if n := l.mine(deed, name); n != nil && !slices.ContainsFunc(n.state.Taints, isDisrupted) {
			n.state.Taints = append(slices.Clone(n.state.Taints), simTaint)
		}
	}
}

// abort takes the taints off, and away what was launched and is not up.
func (l *land) abort(deed *simDeed) {
	deed.phase = api.PhaseAborted
	for _, name := range deed.nodes {
		if n := l.mine(deed, name); n != nil && n.deleted.IsZero() {
			n.state.Taints = slices.DeleteFunc(slices.Clone(n.state.Taints), isDisrupted)
		}
	}
	for i := range deed.replacements {
		r := &deed.replacements[i]
		if n := l.nodes[r.Node]; n != nil && !n.state.Initialized {
			l.vanish(r.Node)
		}
	}
}

func (w *world) launchAll(l *land, d *api.Disruption, deed *simDeed) {
	deed.replacements = slices.Clone(d.Replacements)
	for i := range deed.replacements {
		r := &deed.replacements[i]
		k := slices.IndexFunc(l.agent.command.pools, func(p api.PoolTemplate) bool { return p.Name == r.Pool })
		if k < 0 {
			r.Failed = "the command holds no template of pool " + r.Pool
			continue
		}
		made := l.launch(r, &l.agent.command.pools[k], w.luck, &w.faults, w.now)
		r.Node, r.Failed = made.node, made.failed
		if n := l.nodes[made.node]; n != nil {
			r.Initialized = n.state.Initialized
		} else if made.node != "" {
			r.Failed = "the machine is gone"
		}
	}
}

// drain empties one node and deletes it, step by step.
func (w *world) drain(l *land, n *realNode) {
	name := n.state.Name
	if !slices.ContainsFunc(n.state.Taints, isDisrupted) {
		n.state.Taints = append(slices.Clone(n.state.Taints), simTaint)
	}
	state := l.snapshot(n)
	step := disruption.Drain(disruption.DrainInput{Node: &state, Began: n.deleted, Deadline: disruption.DrainDeadline(&state, n.deleted), InstanceGone: n.machineGone, Now: w.now})
	for _, p := range l.podsOn(name) {
		key := p.state.Namespace + "/" + p.state.Name
		if slices.Contains(step.Evict, key) {
			l.evict(p, w.now)
		}
		for _, d := range step.Delete {
			if d.Pod == key {
				l.terminate(p, d.Grace, w.now)
			}
		}
	}
	switch {
	case step.Released:
		l.vanish(name)
	case step.DeleteInstance:
		n.machineGone = true
	}
}

// count takes in which nodes of a deed are gone.
func (d *simDeed) count(l *land) {
	d.gone = nil
	for _, name := range d.nodes {
		if l.mine(d, name) == nil {
			d.gone = append(d.gone, name)
		}
	}
	if len(d.gone) == len(d.nodes) {
		d.phase = api.PhaseDone
	}
}

// speak sends what changed, in the order of agent/nodes: nodes that pods came to, the inventory, nodes that
// pods left, and results. The inventory comes before nodes that pods left when the hub would miss one that
// moved, at the end otherwise.
func (w *world) speak(l *land) {
	a := &l.agent
	if !w.now.Before(a.resync) {
		a.resync = w.now.Add(simResync)
		a.listed = ""
		for _, d := range a.ledger {
			d.said = ""
		}
	}
	var losing []string
	for _, name := range l.sorted() {
		switch {
		case a.told[name] == l.face(l.nodes[name]):
		case l.loses(name):
			losing = append(losing, name)
		default:
			w.tellNode(l, name)
		}
	}
	covered := l.misses()
	if covered {
		w.sendInventory(l)
	}
	for _, name := range losing {
		w.tellNode(l, name)
	}
	for _, name := range slices.Sorted(maps.Keys(a.told)) {
		if l.nodes[name] == nil {
			a.sequence[name]++
			w.send(l, simMessage{event: w.event(l, api.NodeState{Name: name}, true)})
			delete(a.told, name)
			delete(a.pods, name)
			delete(a.sequence, name)
		}
	}
	if !covered {
		w.sendInventory(l)
	}
	for _, id := range slices.Sorted(maps.Keys(a.ledger)) {
		w.report(l, id, a.ledger[id])
	}
}

// loses reports whether a pod that the agent told of left a node, or begins to end there.
func (l *land) loses(name string) bool {
	now := l.standing(name)
	for pod, ran := range l.agent.pods[name] {
		if runs, there := now[pod]; !there || ran && !runs {
			return true
		}
	}
	return false
}

// standing are the pods on a node; true while they do not end.
func (l *land) standing(name string) map[string]bool {
	out := map[string]bool{}
	for _, p := range l.podsOn(name) {
		out[p.state.Name] = !p.state.Terminating
	}
	return out
}

func (w *world) tellNode(l *land, name string) {
	a := &l.agent
	a.told[name], a.pods[name] = l.face(l.nodes[name]), l.standing(name)
	a.sequence[name]++
	w.send(l, simMessage{event: w.event(l, l.snapshot(l.nodes[name]), false)})
}

// untold are pods that came to a node of which that is not told.
func (l *land) untold(p *realPod) bool {
	told := l.agent.pods[p.on]
	return told != nil && !p.state.Terminating && !told[p.state.Name]
}

// misses reports whether there are pods that no event and no inventory told of.
func (l *land) misses() bool {
	for _, p := range l.pods {
		if (p.on == "" || l.untold(p)) && !l.agent.waiting[p.state.Name] {
			return true
		}
	}
	return false
}

const simResync = 10 * time.Minute

func simDigest(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func (w *world) event(l *land, s api.NodeState, gone bool) *api.NodeEvent {
	a := &l.agent
	return &api.NodeEvent{Member: l.name, Boot: fmt.Sprint("b", a.boot), Sequence: a.sequence[s.Name], At: metav1.NewTime(w.now.Truncate(time.Second)), Node: s, Gone: gone}
}

// face is what changes of a node, in short.
func (l *land) face(n *realNode) string {
	text := fmt.Sprintf("%s %d %v %v %v %d", n.state.UID, len(n.state.Taints), n.deleted.IsZero(), n.state.Ready, n.state.Initialized, n.state.LastPodEvent.Unix())
	for _, p := range l.podsOn(n.state.Name) {
		text += fmt.Sprintf(",%s %v %d", p.state.Name, p.state.Terminating, len(p.state.Annotations))
	}
	return text
}

// listed are the nodes that an inventory names: also those that are gone, until that is told.
func (l *land) listed() []string { return slices.Sorted(maps.Keys(l.agent.told)) }

func (w *world) sendInventory(l *land) {
	a := &l.agent
	listed := l.listed()
	text := strings.Join(listed, " ")
	for _, p := range l.pods {
		if p.on == "" || l.untold(p) {
			text += "," + p.state.Name
		}
	}
	for i := range l.budgets {
		text += fmt.Sprint(" ", l.allowed(&l.budgets[i]))
	}
	if a.listed == text {
		return
	}
	a.listed, a.waiting = text, map[string]bool{}
	a.counted++
	inv := &api.NodeInventory{Member: l.name, Boot: fmt.Sprint("b", a.boot), Nodes: map[string]uint64{}}
	for _, p := range l.pods {
		if p.on == "" || l.untold(p) {
			inv.Pending = append(inv.Pending, p.state)
			a.waiting[p.state.Name] = true
		}
	}
	for i := range l.budgets {
		b := &l.budgets[i]
		inv.Budgets = append(inv.Budgets, api.PodBudget{Namespace: "default", Name: b.app, Selector: simulatetest.Selecting(b.app), Allowed: l.allowed(b)})
	}
	inv.Sequence, inv.At = a.counted, metav1.NewTime(w.now.Truncate(time.Second))
	for _, name := range listed {
		inv.Nodes[name] = a.sequence[name]
	}
	w.send(l, simMessage{inventory: inv})
}

// report puts the result of a deed when it says something new.
func (w *world) report(l *land, id string, d *simDeed) {
	result := api.DisruptionResult{Member: l.name, ID: id, Phase: d.phase, Replacements: slices.Clone(d.replacements), Gone: slices.Clone(d.gone)}
	if text := fmt.Sprint(d.phase, len(d.gone), d.replacements); d.said != text {
		d.said = text
		w.sendResult(l, &result)
	}
}
