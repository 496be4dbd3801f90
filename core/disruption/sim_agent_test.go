package disruption

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
	at        time.Time // of the look at the member
	event     *api.NodeEvent
	inventory *api.NodeInventory
}

func (a *simAgent) start() {
	a.up, a.boot = true, a.boot+1
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
	step := Drain(DrainInput{Node: &state, Began: n.deleted, Deadline: DrainDeadline(&state, n.deleted), InstanceGone: n.machineGone, Now: w.now})
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

// speak sends what changed: nodes first, then the inventory that counts them, then results.
func (w *world) speak(l *land) {
	a := &l.agent
	if !w.now.Before(a.resync) {
		a.resync = w.now.Add(simResync)
		a.listed = ""
		for _, d := range a.ledger {
			d.said = ""
		}
	}
	for _, name := range l.sorted() {
		if text := l.face(l.nodes[name]); a.told[name] != text {
			a.told[name] = text
			a.sequence[name]++
			w.send(l, simMessage{event: w.event(l, l.snapshot(l.nodes[name]), false)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.told)) {
		if l.nodes[name] == nil {
			delete(a.told, name)
			a.sequence[name]++
			w.send(l, simMessage{event: w.event(l, api.NodeState{Name: name}, true)})
			delete(a.sequence, name)
		}
	}
	w.sendInventory(l)
	for _, id := range slices.Sorted(maps.Keys(a.ledger)) {
		w.report(l, id, a.ledger[id])
	}
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

func (w *world) sendInventory(l *land) {
	a := &l.agent
	text := strings.Join(l.sorted(), " ")
	for _, p := range l.pods {
		if p.on == "" {
			text += "," + p.state.Name
		}
	}
	for i := range l.budgets {
		text += fmt.Sprint(" ", l.allowed(&l.budgets[i]))
	}
	if a.listed == text {
		return
	}
	a.listed = text
	a.counted++
	inv := &api.NodeInventory{Member: l.name, Boot: fmt.Sprint("b", a.boot), Nodes: map[string]uint64{}}
	for _, p := range l.pods {
		if p.on == "" {
			inv.Pending = append(inv.Pending, p.state)
		}
	}
	for i := range l.budgets {
		b := &l.budgets[i]
		inv.Budgets = append(inv.Budgets, api.PodBudget{Namespace: "default", Name: b.app, Selector: selecting(b.app), Allowed: l.allowed(b)})
	}
	inv.Sequence, inv.At = a.counted, metav1.NewTime(w.now.Truncate(time.Second))
	for name := range l.nodes {
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
