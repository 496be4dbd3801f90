package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/nodesync"
)

// putters is how many events are on their way at once.
const putters = 4

// tell brings to the hub what it does not have, as far as the interval allows. It returns when there is
// more to tell, zero when something must happen first. The turn is held.
func (r *reporter) tell(ctx context.Context) time.Time {
	r.mu.Lock()
	again, round := r.retry.at, (*nodesync.Round)(nil)
	if now := r.now(); r.hub.Connected() && !now.Before(again) {
		round = r.sync.Round(now)
	}
	r.mu.Unlock()
	if round == nil {
		return again
	}
	next, err := r.carryOut(ctx, round)
	if ctx.Err() != nil {
		return time.Time{}
	}
	if err != nil {
		r.blame(&r.retry.fault, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.retry.at = r.now().Add(r.retry.Next())
		return r.retry.at
	}
	r.retry.fault, r.retry.at = "", time.Time{}
	r.retry.Reset()
	return next
}

// flush looks at the member now and returns once the hub has the newest state of a node, or that it is
// gone, whatever the interval says. A node that was never seen is told to be gone. Where pods went that
// left the node is told first.
func (r *reporter) flush(ctx context.Context, node string) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	if err := r.look(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	round := r.sync.Flush(node, r.now())
	r.mu.Unlock()
	wake(r.news)
	_, err := r.carryOut(ctx, round)
	return err
}

// carryOut takes the steps of a round.
func (r *reporter) carryOut(ctx context.Context, round *nodesync.Round) (next time.Time, err error) {
	for {
		r.mu.Lock()
		step, more := round.Next(err, r.now())
		r.mu.Unlock()
		switch {
		case !more:
			return round.Result()
		case step.Inventory != nil:
			err = r.putInventory(ctx, step.Inventory)
		default:
			err = r.putAll(ctx, step.Nodes)
		}
	}
}

// putAll tells of several nodes, and goes on with the others when the hub does not take some, until each
// of the putters met one.
func (r *reporter) putAll(ctx context.Context, names []string) error {
	queue := make(chan string, len(names))
	for _, name := range names {
		queue <- name
	}
	close(queue)
	faults := make([]error, min(putters, len(names)))
	var running sync.WaitGroup
	for i := range faults {
		running.Go(func() {
			for name := range queue {
				if faults[i] = r.put(ctx, name); faults[i] != nil {
					return
				}
			}
		})
	}
	running.Wait()
	return cmp.Or(faults...)
}

// put tells the hub the newest state of a node, unless it has it. One that is too large is told to be so.
func (r *reporter) put(ctx context.Context, name string) error {
	r.mu.Lock()
	e, due := r.sync.Event(name)
	r.mu.Unlock()
	if !due {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	withheld, err := "", r.hub.PutNodeEvent(limited, e)
	if errors.Is(err, bus.ErrTooLarge) {
		withheld = tooLarge(fmt.Sprintf("its state with %d pods", len(e.Node.Pods)), err)
		e.Node = nodesync.Reduced(&e.Node, withheld)
		err = r.hub.PutNodeEvent(limited, e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.sync.Refused(name)
		return err
	}
	if r.sync.Took(&e, withheld, r.now()) {
		r.o.Log.Warn().Str("node", name).Msg(withheld)
	}
	return nil
}

// putInventory puts an inventory. One that is too large is told to be so.
func (r *reporter) putInventory(ctx context.Context, inv *api.NodeInventory) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	withheld, err := "", r.hub.PutNodeInventory(ctx, *inv)
	if errors.Is(err, bus.ErrTooLarge) {
		withheld = tooLarge("what the member has beside its nodes", err)
		err = r.hub.PutNodeInventory(ctx, api.NodeInventory{Boot: inv.Boot, Sequence: inv.Sequence, At: inv.At, Nodes: inv.Nodes, Withheld: withheld})
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sync.TookInventory(inv, withheld, r.now()) {
		r.o.Log.Warn().Msg(withheld)
	}
	return nil
}

func tooLarge(what string, err error) string {
	why := err.Error()
	if at := strings.Index(why, bus.ErrTooLarge.Error()); at >= 0 {
		why = why[at:]
	}
	return fmt.Sprintf("%s cannot be told (%s); no node of the member is disrupted until it is smaller", what, why)
}
