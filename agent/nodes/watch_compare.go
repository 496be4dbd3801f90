package nodes

import (
	"context"
	"errors"

	"flotilla/bus"
)

// recheck makes run read back what was told.
func (w *watcher) recheck() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.check = true
}

// compare reads back the last that was told, the newest event and the inventory, and has everything told
// again when the hub does not have them: a broker that lost its last writes or came from a backup has
// lost those first, and a hub that purged the member has neither. What cannot be read back after the
// connection came up counts as lost.
func (w *watcher) compare(ctx context.Context) {
	w.mu.Lock()
	due, fresh := w.check, w.sequence == 0
	w.mu.Unlock()
	if !due || !w.hub.Connected() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if fresh {
		w.takeUp(ctx)
	}
	lost, err := w.lost(ctx)
	if ctx.Err() != nil && err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	anew := w.anew
	w.check, w.anew = false, false
	switch {
	case err != nil && !anew:
		return
	case err != nil:
		w.o.Log.Debug().Err(err).Msg("what was told of the nodes cannot be read back; all of it is told again")
	case !lost:
		return
	default:
		w.o.Log.Warn().Msg("the hub does not have what it was told of the nodes: the broker lost it, or another agent speaks for this member; all of it is told again")
	}
	w.forget()
}

// forget has everything told again.
func (w *watcher) forget() {
	for _, t := range w.nodes {
		t.stored, t.lost = 0, true
	}
	w.beside.stored, w.beside.sure = false, false
}

// lost reports whether the hub lacks what it took.
func (w *watcher) lost(ctx context.Context) (bool, error) {
	w.mu.Lock()
	inventory, node, event := w.beside.sequence, w.newest, uint64(0)
	if t := w.nodes[node]; t != nil {
		event = t.sequence
	}
	w.mu.Unlock()
	if inventory > 0 {
		inv, err := w.hub.NodeInventory(ctx)
		if gone, err := w.lacks(inv.Boot, inv.Sequence, inventory, err); gone || err != nil {
			return gone, err
		}
	}
	if event == 0 {
		return false, nil
	}
	e, err := w.hub.NodeEvent(ctx, node)
	return w.lacks(e.Boot, e.Sequence, event, err)
}

// lacks judges what was read back against the sequence that was taken.
func (w *watcher) lacks(boot string, sequence, taken uint64, err error) (bool, error) {
	if errors.Is(err, bus.ErrNotFound) {
		return true, nil
	}
	return err == nil && (boot != w.boot || sequence < taken), err
}
