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
	// told is what the hub took last, when sure says that it has no other; sequence is that of it. stored
	// says that it has all there is to say but what changed since, tried that one was sent, taken or not.
	told     api.NodeInventory
	stored   bool
	sure     bool
	tried    bool
	sequence uint64
	toldAt   time.Time
	withheld string
}

func (b *beside) seen(now api.NodeInventory, at time.Time) { b.now, b.at = now, at }

// tellBeside tells the inventory when it changed, or was not told for long, and returns when it is due
// again. It waits for the events that it counts.
func (w *watcher) tellBeside(ctx context.Context) (next time.Time, err error) {
	w.mu.Lock()
	inv, next := w.inventory(w.now())
	w.mu.Unlock()
	if inv == nil {
		return next, nil
	}
	if err := w.sendBeside(ctx, inv); err != nil {
		return next, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beside.stored = true
	return w.beside.toldAt.Add(w.o.Resync), nil
}

// sendBeside puts an inventory. One that is too large is told to be so.
func (w *watcher) sendBeside(ctx context.Context, inv *api.NodeInventory) error {
	w.mu.Lock()
	b := &w.beside
	b.sure, b.tried = false, true
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	sent, withheld := *inv, ""
	err := w.hub.PutNodeInventory(ctx, sent)
	if errors.Is(err, bus.ErrTooLarge) {
		withheld = tooLarge("what the member has beside its nodes", err)
		sent = api.NodeInventory{Boot: inv.Boot, Sequence: inv.Sequence, At: inv.At, Nodes: inv.Nodes, Withheld: withheld}
		err = w.hub.PutNodeInventory(ctx, sent)
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if withheld != "" && b.withheld == "" {
		w.o.Log.Warn().Msg(withheld)
	}
	b.told, b.sure, b.sequence, b.toldAt, b.withheld = *inv, true, inv.Sequence, w.now(), withheld
	return nil
}

// inventory is what to tell now, nil when there is nothing; next is when there will be, zero when that is
// not known. While the member cannot be read nothing is told again: the hub would take it for fresh.
func (w *watcher) inventory(now time.Time) (inv *api.NodeInventory, next time.Time) {
	b := &w.beside
	for _, t := range w.nodes {
		if t.stored == 0 {
			return nil, time.Time{}
		}
	}
	if inv = w.count(); inv == nil {
		return nil, time.Time{}
	}
	resync, interval := b.toldAt.Add(w.o.Resync), b.toldAt.Add(w.o.Interval)
	switch {
	case !b.stored || !resync.After(now):
	case same(inv, &b.told):
		return nil, resync
	case interval.After(now):
		return nil, interval
	}
	w.sequence++
	return inv, time.Time{}
}

// count makes the next inventory, nil while the member cannot be read. Nodes of which the hub refused the
// newest event, or may have lost it, count with one that is still to come: that keeps the hub from acting
// on the member until it has come. A node that left is listed until that is told. What the hub does not
// know yet to be on its node is listed without one, so that the hub does not miss it.
func (w *watcher) count() *api.NodeInventory {
	b := &w.beside
	if b.at.IsZero() || w.lookFault != "" {
		return nil
	}
	is := b.now
	is.Boot, is.Sequence, is.At = w.boot, w.sequence+1, w.stamp(b.at)
	is.Nodes = make(map[string]uint64, len(w.nodes))
	for name, t := range w.nodes {
		switch {
		case t.gone && (t.stored >= t.version || t.sequence == 0):
		case t.lost || t.failures > 0 || t.sequence == 0:
			is.Nodes[name] = is.Sequence
		default:
			is.Nodes[name] = t.sequence
		}
	}
	if out := w.unheard(); len(out) > 0 {
		is.Pending = append(slices.Clone(is.Pending), out...)
		slices.SortFunc(is.Pending, func(a, b api.PodState) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	return &is
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
