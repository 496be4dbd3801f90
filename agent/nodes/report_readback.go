package nodes

import (
	"context"
	"errors"

	"flotilla/bus"
	"flotilla/core/api"
)

// readback is what was told and is to be read back.
type readback struct {
	due  bool
	anew bool // the connection came up since it was
}

// recheck makes run read back what was told.
func (r *reporter) recheck() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readback.due = true
}

// compare reads back the last that was told, the newest event and the inventory, and has everything told
// again when the hub does not have them: a broker that lost its last writes or came from a backup has
// lost those first, and a hub that purged the member has neither. What cannot be read back after the
// connection came up counts as lost.
func (r *reporter) compare(ctx context.Context) {
	r.mu.Lock()
	due, fresh := r.readback.due, r.sync.Fresh()
	r.mu.Unlock()
	if !due || !r.hub.Connected() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if fresh {
		r.takeUp(ctx)
	}
	lost, err := r.lost(ctx)
	if ctx.Err() != nil && err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	anew := r.readback.anew
	r.readback = readback{}
	switch {
	case err != nil && !anew:
		return
	case err != nil:
		r.o.Log.Debug().Err(err).Msg("what was told of the nodes cannot be read back; all of it is told again")
	case !lost:
		return
	default:
		r.o.Log.Warn().Msg("the hub does not have what it was told of the nodes: the broker lost it, or another agent speaks for this member; all of it is told again")
	}
	r.sync.Forget()
}

// lost reports whether the hub lacks what it took.
func (r *reporter) lost(ctx context.Context) (bool, error) {
	r.mu.Lock()
	inventory, node, event := r.sync.Last()
	r.mu.Unlock()
	if inventory > 0 {
		inv, err := r.hub.NodeInventory(ctx)
		if lacks, err := r.lacks(inv.Boot, inv.Sequence, inventory, err); lacks || err != nil {
			return lacks, err
		}
	}
	if event == 0 {
		return false, nil
	}
	e, err := r.hub.NodeEvent(ctx, node)
	return r.lacks(e.Boot, e.Sequence, event, err)
}

// lacks judges what was read back against the sequence that was taken.
func (r *reporter) lacks(boot string, sequence, taken uint64, err error) (bool, error) {
	if errors.Is(err, bus.ErrNotFound) {
		return true, nil
	}
	return err == nil && r.sync.Lacks(boot, sequence, taken), err
}

// takeUp takes up what an earlier process of the agent told.
func (r *reporter) takeUp(ctx context.Context) {
	inv, err := r.hub.NodeInventory(ctx)
	if err != nil {
		return // there is none, or none that matters
	}
	r.mu.Lock()
	names, calm := r.sync.Resume(&inv)
	r.mu.Unlock()
	if calm {
		return
	}
	var told []api.NodeState
	for _, name := range names {
		e, err := r.hub.NodeEvent(ctx, name)
		switch {
		case errors.Is(err, bus.ErrNotFound):
		case err != nil:
			r.o.Log.Debug().Err(err).Msg("what was told of the nodes cannot be read back; pods that left some of them are not waited for")
			return
		case !e.Gone:
			told = append(told, e.Node)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sync.TakeUp(told, &inv, r.now()) {
		r.lookForSuccessors()
	}
}
