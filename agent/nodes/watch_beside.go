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
// not known.
func (w *watcher) inventory(now time.Time) (inv *api.NodeInventory, next time.Time) {
	due, next := w.besideDue(now)
	if !due {
		return nil, next
	}
	inv = w.counted()
	w.sequence++
	inv.Boot, inv.Sequence, inv.At = w.boot, w.sequence, w.stamp(w.beside.at)
	return inv, time.Time{}
}

// besideDue reports whether the hub is to be told the inventory, and else when, zero when that is not
// known.
func (w *watcher) besideDue(now time.Time) (due bool, next time.Time) {
	b := &w.beside
	is := w.counted()
	switch resync := b.toldAt.Add(w.o.Resync); {
	case is == nil:
		return false, time.Time{}
	case !b.stored || !resync.After(now):
		return true, time.Time{}
	default:
		return !same(is, &b.told), resync
	}
}

// counted is the inventory as it is now, but for its head; nil while some node was never told, or the
// member cannot be read: the hub would take what it is told again for fresh. A node that left is listed
// until that is told.
func (w *watcher) counted() *api.NodeInventory {
	if w.beside.at.IsZero() || w.lookFault != "" {
		return nil
	}
	is := w.beside.now
	is.Nodes = make(map[string]uint64, len(w.nodes))
	for name, t := range w.nodes {
		switch {
		case t.stored == 0:
			return nil
		case !t.gone || t.stored < t.version:
			is.Nodes[name] = t.sequence
		}
	}
	is.Pending = w.pending()
	return &is
}

// pending lists the pods without a node, and those that came to a node of which the hub is not told yet, so
// that it does not miss them in between.
func (w *watcher) pending() []api.PodState {
	out := slices.Clone(w.beside.now.Pending)
	for _, t := range w.nodes {
		if !t.gone && t.stored < t.version {
			out = append(out, t.came()...)
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
