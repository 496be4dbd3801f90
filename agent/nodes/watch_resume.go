package nodes

import (
	"context"
	"errors"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
)

// takeUp takes up what an earlier process of the agent told: what is told from now on is later than that, and the pods
// that left nodes which go since then, or shortly before, are between two nodes.
func (w *watcher) takeUp(ctx context.Context) {
	inv, err := w.hub.NodeInventory(ctx)
	if err != nil {
		return // there is none, or none that matters
	}
	w.mu.Lock()
	w.floor = inv.At.UTC().Truncate(time.Second)
	calm := w.calm(&inv)
	w.mu.Unlock()
	if calm {
		return
	}
	told := map[string]*tracked{}
	for name := range inv.Nodes {
		e, err := w.hub.NodeEvent(ctx, name)
		if errors.Is(err, bus.ErrNotFound) {
			continue
		}
		if err != nil {
			w.o.Log.Debug().Err(err).Msg("what was told of the nodes cannot be read back; pods that left some of them are not waited for")
			return
		}
		if !e.Gone {
			told[name] = &tracked{state: e.Node}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if w.between.resume(told, w.nodes, inv.Pending, w.beside.now.Pending, now) {
		w.between.tell(&w.beside.now, now)
		time.AfterFunc(successorTime+gatherTime, w.wake)
	}
}

// calm says that no node goes, or has gone, since an inventory, and that all pods that had none are there.
func (w *watcher) calm(inv *api.NodeInventory) bool {
	for name := range inv.Nodes {
		if t := w.nodes[name]; t == nil || t.gone || going(&t.state) {
			return false
		}
	}
	here := there(w.nodes, w.beside.now.Pending)
	for i := range inv.Pending {
		if !here[podKey(&inv.Pending[i])] {
			return false
		}
	}
	return true
}
