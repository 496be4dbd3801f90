package nodes

import (
	"context"
	"reflect"
	"time"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/cluster"
)

// look reads the member and notes what changed. The turn is held.
func (w *watcher) look(ctx context.Context) error {
	began := w.now()
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s, err := w.o.Target.Survey(limited)
	if err != nil {
		if ctx.Err() == nil {
			w.blame(&w.lookFault, err)
		}
		return err
	}
	seen := cluster.Observe(listing(s))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookFault = ""
	for i := range seen.Nodes {
		w.memory.complete(&seen.Nodes[i], began.UTC().Truncate(time.Second))
	}
	w.memory.only(seen.Nodes)
	if w.between.look(w.nodes, &seen, began) {
		time.AfterFunc(successorTime+gatherTime, w.wake)
	}
	w.merge(seen.Nodes, began)
	w.beside.seen(seen.Inventory, began)
	w.lookTime = w.now().Sub(began)
	return nil
}

// blame keeps a fault and logs it once.
func (w *watcher) blame(at *string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if *at == "" {
		w.o.Log.Warn().Err(err).Msg("the hub cannot be told the state of the member's nodes")
	}
	*at = err.Error()
}

// merge notes the newest state of each node.
func (w *watcher) merge(states []api.NodeState, at time.Time) {
	there := make(map[string]bool, len(states))
	for i := range states {
		n := &states[i]
		there[n.Name] = true
		t := w.nodes[n.Name]
		if t == nil {
			t = &tracked{}
			w.nodes[n.Name] = t
		}
		t.at = at
		if t.version == 0 || t.gone || !reflect.DeepEqual(t.state, *n) {
			t.state, t.gone = *n, false
			t.version++
		}
	}
	for name, t := range w.nodes {
		switch {
		case there[name] || t.gone:
		case !t.tried:
			delete(w.nodes, name)
		default:
			t.state, t.gone, t.at = api.NodeState{Name: name, UID: t.state.UID}, true, at
			t.version++
		}
	}
}

func listing(s *target.Survey) *cluster.Listing {
	return &cluster.Listing{
		Nodes: s.Nodes, Pods: s.Pods, Budgets: s.Budgets, DaemonSets: s.DaemonSets, Namespaces: s.Namespaces,
		Claims: s.Claims, Volumes: s.Volumes, Classes: s.Classes, CSINodes: s.CSINodes, NodeClaims: s.NodeClaims,
	}
}
