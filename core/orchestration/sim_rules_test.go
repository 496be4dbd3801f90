package orchestration_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// began judges what a hub has just written.
func (w *world) began(h *simHub, l *land, in *orchestration.StepInput, res *orchestration.StepResult) {
	open := map[string]string{}
	for i := range res.Record.Disruptions {
		d := &res.Record.Disruptions[i]
		if d.Ended.IsZero() {
			require.Equal(w.t, simOwner, w.store.locks[l.name], "%s: something goes on without the lock", w)
			for _, n := range d.Nodes {
				if other, twice := open[n]; twice && (!d.Forceful || !w.aborted(res, other)) {
					require.Failf(w.t, "twice", "%s: %s of %s is in %s and %s", w, n, l.name, other, d.ID)
				}
				open[n] = d.ID
			}
		}
		w.phases[d.Phase]++
	}
	down := h.heldBefore(in, res)
	for _, id := range res.Began {
		d := &res.Record.Disruptions[slices.IndexFunc(res.Record.Disruptions, func(d api.Disruption) bool { return d.ID == id })]
		require.False(w.t, w.ids[l.name+id], "%s: id %s a second time", w, id)
		w.ids[l.name+id] = true
		w.begun[d.Method]++
		w.note("%s: %s begins %s %v -> %v", l.name, h.name, d.ID, d.Nodes, d.Moves)
		for _, n := range d.Nodes {
			down[n] = true
		}
		if d.Forceful {
			continue
		}
		require.Empty(w.t, in.State.Stale, "%s: it acts on a view that is too old", w)
		require.Empty(w.t, in.Lock.Owner+in.Lock.Awaited, "%s: %s begins though a run has the member or waits for it", w, d.ID)
		w.requireRested(in, d)
		w.requirePays(in, d)
		w.requireAfforded(h, l, in, d, down)
		w.requirePlaces(in, d, res)
		w.requireSpared(in, d, down)
		if !disruption.Foreseen(d.Method, d.Forceful) {
			w.promise(l, d)
		}
	}
}

// requireSpared finds a node that stays for each pod that waits and finds one by itself, when nothing else goes
// that has pods to place (N23).
func (w *world) requireSpared(in *orchestration.StepInput, d *api.Disruption, down map[string]bool) {
	c := in.State.Cluster
	if len(d.Replacements) > 0 || len(c.Pending) == 0 {
		return
	}
	var before, after []string
	for _, name := range c.Names() {
		n, _ := c.Node(name)
		if goes := n.Deleting || n.InstanceTerminating || down[name] && !slices.Contains(d.Nodes, name); goes && slices.ContainsFunc(n.Pods, func(p api.PodState) bool { return cluster.Movable(&p) }) {
			return
		} else if goes {
			continue
		}
		before = append(before, name)
		if !slices.Contains(d.Nodes, name) {
			after = append(after, name)
		}
	}
	for _, p := range c.Pending {
		if p.Mirror || p.Daemon || simulate.Ended(p.State) {
			continue
		}
		one := []api.PodState{*p.State}
		if simulatetest.Fit(simulatetest.FitInput{Cluster: c, Order: before, Pods: one})[0].Node != "" {
			w.spared++
			require.NotEmpty(w.t, simulatetest.Fit(simulatetest.FitInput{Cluster: c, Order: after, Pods: one})[0].Node, "%s: %s leaves %s, which waits, without a place", w, d.ID, p.Key)
		}
	}
}

func (w *world) aborted(res *orchestration.StepResult, id string) bool {
	return slices.ContainsFunc(res.Record.Disruptions, func(d api.Disruption) bool { return d.ID == id && d.Phase == api.PhaseAborted })
}

// heldBefore are the nodes that go, those of what just began left out.
func (h *simHub) heldBefore(in *orchestration.StepInput, res *orchestration.StepResult) map[string]bool {
	before := orchestration.StepInput{State: in.State, Record: res.Record}
	before.Record.Disruptions = slices.DeleteFunc(slices.Clone(res.Record.Disruptions), func(d api.Disruption) bool { return slices.Contains(res.Began, d.ID) })
	return orchestration.StateOf(before).Busy
}

// requireRested holds failed nodes to their back-off.
func (w *world) requireRested(in *orchestration.StepInput, d *api.Disruption) {
	for _, b := range in.Record.Backoffs {
		if slices.Contains(d.Nodes, b.Node) {
			require.False(w.t, w.now.Before(b.Until.Time), "%s: %s takes %s, which is left alone until %s", w, d.ID, b.Node, b.Until)
		}
	}
}

// requirePays compares what a consolidation takes away with the dearest that may come for it.
func (w *world) requirePays(in *orchestration.StepInput, d *api.Disruption) {
	if d.Method != disruption.MethodEmpty && d.Method != disruption.MethodMulti && d.Method != disruption.MethodSingle {
		return
	}
	require.Positive(w.t, d.Savings.Amount, "%s: %s does not pay", w, d.ID)
	require.LessOrEqual(w.t, len(d.Replacements), 1)
	before, after := 0.0, 0.0
	for _, name := range d.Nodes {
		n, _ := in.State.Cluster.Node(name)
		before += w.prices[n.Labels[corev1.LabelInstanceTypeStable]+n.Labels[corev1.LabelTopologyZone]]
	}
	for i := range d.Replacements {
		for _, kind := range d.Replacements[i].Types {
			for _, o := range kind.Offerings {
				after = max(after, w.prices[kind.Name+o.Zone])
			}
		}
	}
	require.Greater(w.t, before, after, "%s: %s may cost more than it saves", w, d.ID)
}

// requireAfforded counts what is down, pool by pool and over the fleet, without the code under test.
func (w *world) requireAfforded(h *simHub, l *land, in *orchestration.StepInput, d *api.Disruption, down map[string]bool) {
	for _, p := range w.parsed {
		total, gone, takes := simCount(in.State.Cluster, p.Name, down, d.Nodes)
		if !takes {
			continue
		}
		require.LessOrEqual(w.t, capacity.Count(gone), p.Budgets.Limit(w.now, total, d.Reason, capacity.Rules{}), "%s: %s exceeds the budgets of pool %s", w, d.ID, p.Name)
		if p.FleetBudget == "" {
			continue
		}
		for _, other := range w.lands {
			if other != l {
				gone += h.count(other).Disrupting
			}
		}
		require.LessOrEqual(w.t, gone, int(simFleetBudget[0]-'0'), "%s: %s exceeds the budget of the fleet", w, d.ID)
	}
}

// simCount counts a pool's nodes, those that are down, and whether some of them are of a command.
func simCount(c *cluster.Cluster, pool string, down map[string]bool, nodes []string) (total, gone int, takes bool) {
	for _, name := range c.Names() {
		n, _ := c.Node(name)
		if n.Labels[api.LabelNodePool] != pool || !n.Managed || !n.Initialized || n.InstanceTerminating {
			continue
		}
		total++
		if !n.Ready || n.Deleting || down[name] {
			gone++
		}
		takes = takes || slices.Contains(nodes, name)
	}
	return total, gone, takes
}

// requirePlaces finds a place that stays for every pod of a disruption.
func (w *world) requirePlaces(in *orchestration.StepInput, d *api.Disruption, res *orchestration.StepResult) {
	if d.Method == disruption.MethodEmpty || d.Method == disruption.MethodStaticDrift {
		return
	}
	to := map[string]string{}
	for _, m := range d.Moves {
		to[m.Pod] = m.To
		if n, found := in.State.Cluster.Node(m.To); found {
			require.False(w.t, n.Deleting, "%s: %s sends %s to %s, which goes", w, d.ID, m.Pod, m.To)
			for i := range res.Record.Disruptions {
				if other := &res.Record.Disruptions[i]; other.Running() {
					require.NotContains(w.t, other.Nodes, m.To, "%s: %s sends %s to a node of %s", w, d.ID, m.Pod, other.ID)
				}
			}
		} else {
			require.Regexp(w.t, `^new-\d+$`, m.To, "%s: %s sends %s to nowhere", w, d.ID, m.Pod)
		}
	}
	for _, name := range d.Nodes {
		n, _ := in.State.Cluster.Node(name)
		for i := range n.Pods {
			p := &n.Pods[i]
			if held := p.Annotations[api.AnnotationDoNotDisrupt] != "" && n.TerminationGracePeriod != ""; p.Owner == "ReplicaSet" && !p.Terminating && !held {
				require.NotEmpty(w.t, to["default/"+p.Name], "%s: %s leaves %s without a place", w, d.ID, p.Name)
			}
		}
	}
}

// promise remembers where pods are to come.
func (w *world) promise(l *land, d *api.Disruption) {
	for _, p := range l.pods {
		for _, m := range d.Moves {
			if m.Pod != "default/"+p.state.Name || m.From == "" {
				continue
			}
			p.promised, p.by = m.To, d.ID
			for i := range d.Replacements {
				if m.To == fmt.Sprint("new-", i) {
					p.promised = "new-" + d.Replacements[i].Name
				}
			}
		}
	}
}

// idempotent looks at the same moment again: nothing more is to be done.
func (w *world) idempotent(in *orchestration.StepInput, res *orchestration.StepResult) {
	if !res.Changed || res.Remove || !w.luck.Chance(3) {
		return
	}
	again := *in
	again.Record, again.Waiting, again.Resting, again.Deletions = res.Record, res.Waiting, true, nil
	again.Lock.Ours = again.Lock.Ours && !res.ReleaseLock || res.TakeLock
	next := orchestration.Step(again)
	require.False(w.t, next.Changed, "%s: a second pass over the same changes the record\n%s\n%s", w, simDigest(res.Record), simDigest(next.Record))
	require.Empty(w.t, next.Began)
}

// requireOrder holds at every tick, whatever goes wrong.
func (w *world) requireOrder(l *land) {
	r := w.store.records[l.name].record
	open, voluntary := map[string]bool{}, map[string]int{}
	for i := range r.Disruptions {
		d := &r.Disruptions[i]
		for _, name := range d.Nodes {
			if !d.Ended.IsZero() {
				continue
			}
			open[name] = true
			if n := l.nodes[name]; n != nil && n.state.UID == d.UIDs[name] && !d.Forceful && d.Running() {
				voluntary[n.state.Labels[api.LabelNodePool]]++
			}
		}
	}
	a := w.parsed[0]
	require.LessOrEqual(w.t, capacity.Count(voluntary["a"]), a.Budgets.Limit(w.now, 1000, api.ReasonEmpty, capacity.Rules{}), "%s: more of pool a than its budget of a number", w)
}

// requireKept holds while nobody but Flotilla changes anything: a pod that lost its node because another
// place was promised has one.
func (w *world) requireKept(l *land) {
	for _, p := range l.pods {
		require.False(w.t, p.on == "" && p.promised != "", "%s: %s of %s was promised %s by %s and has no place", w, p.state.Name, l.name, p.promised, p.by)
	}
}

// requireSettled holds once faults have ended and time has passed.
func (w *world) requireSettled() {
	for _, l := range w.lands {
		r := w.store.records[l.name].record
		for i := range r.Disruptions {
			d := &r.Disruptions[i]
			require.False(w.t, d.Ended.IsZero(), "%s: %s of %s has not ended: %s %s", w, d.ID, l.name, d.Phase, d.Message)
		}
		require.Empty(w.t, w.store.locks[l.name], "%s: the lock of %s", w, l.name)
		for name, n := range l.nodes {
			require.False(w.t, slices.ContainsFunc(n.state.Taints, isDisrupted), "%s: %s of %s keeps its taint", w, name, l.name)
			require.True(w.t, n.deleted.IsZero(), "%s: %s of %s is still being deleted", w, name, l.name)
		}
	}
}

// settle lets time pass until nothing has begun for an hour.
func (w *world) settle() {
	last, quiet := len(w.ids), time.Duration(0)
	for passed := time.Duration(0); quiet < time.Hour; passed += simTick {
		require.Less(w.t, passed, 24*time.Hour, "%s: it does not settle", w)
		w.tick()
		if quiet += simTick; len(w.ids) != last {
			last, quiet = len(w.ids), 0
		}
	}
}
