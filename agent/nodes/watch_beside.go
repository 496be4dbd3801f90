package nodes

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
)

// beside is what the member has beside its nodes, and how much of it the hub has.
type beside struct {
	now api.NodeInventory // the newest, without its head and nodes
	at  time.Time         // of the look that gave it
	// told is what the hub has, when stored says that it has any; sequence is that of the newest that it
	// took.
	told     api.NodeInventory
	stored   bool
	sequence uint64
	toldAt   time.Time
	withheld string
}

func (b *beside) seen(now api.NodeInventory, at time.Time) { b.now, b.at = now, at }

// tellBeside tells the inventory when it changed, or was not told for long, and returns when it is due
// again. It waits for the events that it counts.
func (w *watcher) tellBeside(ctx context.Context) (next time.Time, err error) {
	w.mu.Lock()
	inv, next := w.inventory(time.Now())
	w.mu.Unlock()
	if inv == nil {
		return next, nil
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	sent, withheld := *inv, ""
	err = w.o.Hub.PutNodeInventory(ctx, sent)
	if errors.Is(err, bus.ErrTooLarge) {
		withheld = tooLarge("what the member has beside its nodes", err)
		sent = api.NodeInventory{Boot: inv.Boot, Sequence: inv.Sequence, At: inv.At, Nodes: inv.Nodes, Withheld: withheld}
		err = w.o.Hub.PutNodeInventory(ctx, sent)
	}
	if err != nil {
		return next, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &w.beside
	if withheld != "" && b.withheld == "" {
		w.o.Log.Warn().Msg(withheld)
	}
	b.told, b.stored, b.sequence, b.toldAt, b.withheld = *inv, true, inv.Sequence, time.Now(), withheld
	return b.toldAt.Add(w.o.Resync), nil
}

// inventory is what to tell now, nil when there is nothing; next is when there will be, zero when that is
// not known. While the member cannot be read nothing is told again: the hub would take it for fresh.
func (w *watcher) inventory(now time.Time) (inv *api.NodeInventory, next time.Time) {
	b := &w.beside
	if b.at.IsZero() || w.lookFault != "" {
		return nil, time.Time{}
	}
	is := b.now
	is.Nodes = make(map[string]uint64, len(w.nodes))
	for name, t := range w.nodes {
		switch {
		case t.stored == 0:
			return nil, time.Time{}
		case !t.gone:
			is.Nodes[name] = t.sequence
		}
	}
	is.Pending = w.pending()
	resync, interval := b.toldAt.Add(w.o.Resync), b.toldAt.Add(w.o.Interval)
	switch {
	case !b.stored || !resync.After(now):
	case same(&is, &b.told):
		return nil, resync
	case interval.After(now):
		return nil, interval
	}
	w.sequence++
	is.Boot, is.Sequence, is.At = w.boot, w.sequence, w.stamp(b.at)
	return &is, time.Time{}
}

// pending lists the pods without a node. One that has a node now stays in the list until the event of its
// node is told, so that the hub does not miss it in between.
func (w *watcher) pending() []api.PodState {
	now := w.beside.now.Pending
	bound := map[string]bool{}
	for i := range w.beside.told.Pending {
		bound[podKey(&w.beside.told.Pending[i])] = true
	}
	for i := range now {
		delete(bound, podKey(&now[i]))
	}
	if len(bound) == 0 {
		return now
	}
	out := slices.Clone(now)
	for _, t := range w.nodes {
		if t.gone || t.stored >= t.version {
			continue
		}
		for i := range t.state.Pods {
			if p := &t.state.Pods[i]; bound[podKey(p)] {
				out = append(out, *p)
			}
		}
	}
	slices.SortFunc(out, func(a, b api.PodState) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func podKey(p *api.PodState) string { return p.UID + "/" + p.Namespace + "/" + p.Name }

// same reports whether two inventories say the same, whatever the events that they count.
func same(a, b *api.NodeInventory) bool {
	if len(a.Nodes) != len(b.Nodes) {
		return false
	}
	for name := range maps.Keys(a.Nodes) {
		if _, ok := b.Nodes[name]; !ok {
			return false
		}
	}
	return reflect.DeepEqual(a.Pending, b.Pending) && reflect.DeepEqual(a.Budgets, b.Budgets) &&
		reflect.DeepEqual(a.DaemonSets, b.DaemonSets) && reflect.DeepEqual(a.Namespaces, b.Namespaces)
}
