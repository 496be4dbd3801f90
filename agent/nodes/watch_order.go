package nodes

import (
	"cmp"
	"context"
	"errors"
	"time"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

// Whatever of one look has been told, the hub knows of every pod that moved: nodes that pods came to are
// told before nodes that pods left. Where that cannot be, of nodes that exchange pods, and of those that
// the hub refuses or is not to be told of yet, the inventory lists what came there as pods without a node,
// and is told before nodes that pods left.

// round tells what may be told now: nodes that lose no pod, then those that do, once the hub knows of
// every pod, then the inventory. It returns when there is more to tell.
func (w *watcher) round(ctx context.Context) (next time.Time, err error) {
	now := w.now()
	first, last, next := w.due(now)
	if len(first)+len(last) > 0 {
		next = sooner(next, now.Add(w.o.Resync))
	}
	before, held := w.newestSequence(), false
	err = w.putAll(ctx, first)
	if len(last) > 0 {
		covered, later, fault := w.cover(ctx, now)
		if covered {
			fault = w.putAll(ctx, last)
		}
		held, next, err = !covered, sooner(next, later), cmp.Or(err, fault)
	}
	if err != nil {
		return next, err
	}
	later, err := w.tellBeside(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && !held && w.sequence > before {
		w.paced = w.now()
	}
	return sooner(next, later), err
}

func (w *watcher) newestSequence() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sequence
}

// cover reports whether the hub knows of every pod, and sees to it with an inventory if it does not, unless
// nodes that pods came to can be told soon; it returns when that is.
func (w *watcher) cover(ctx context.Context, now time.Time) (covered bool, later time.Time, err error) {
	w.mu.Lock()
	if !w.misses() {
		w.owing = time.Time{}
		w.mu.Unlock()
		return true, time.Time{}, nil
	}
	if later = w.coverAt(now); later.After(now) {
		if w.owing.IsZero() {
			w.owing = now
		}
		w.mu.Unlock()
		return false, later, nil
	}
	w.mu.Unlock()
	covered, err = w.tellCover(ctx)
	return covered, time.Time{}, err
}

// coverAt is when the inventory is to be told before nodes that lost pods: not before nodes that gained
// some may be told instead, nor before the interval of the inventory is over. Nodes that lost some wait for
// that no longer than the interval.
func (w *watcher) coverAt(now time.Time) time.Time {
	at := w.beside.toldAt.Add(w.o.Interval)
	for _, t := range w.nodes {
		if due := w.dueAt(t); due.After(now) && due.After(at) && t.failures == 0 && len(t.came()) > 0 && !t.loses() {
			at = due
		}
	}
	if most := w.owing.Add(w.o.Interval); !w.owing.IsZero() && most.Before(at) {
		return most
	}
	return at
}

// tellCover tells the inventory with all pods of which the hub does not know yet; false when the member
// could not be read since.
func (w *watcher) tellCover(ctx context.Context) (bool, error) {
	w.mu.Lock()
	inv := w.count()
	if inv != nil {
		w.sequence++
	}
	w.mu.Unlock()
	if inv == nil {
		return false, nil
	}
	if err := w.sendBeside(ctx, inv); err != nil {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owing = time.Time{}
	return true, nil
}

var errUnread = errors.New("the nodes of the member cannot be read")

// tellGains lets the hub know of every pod, whatever the interval says.
func (w *watcher) tellGains(ctx context.Context) error {
	w.mu.Lock()
	misses := w.misses()
	var gain []string
	for name, t := range w.nodes {
		if misses && !t.loses() && len(t.came()) > 0 {
			gain = append(gain, name)
		}
	}
	w.sort(gain)
	w.mu.Unlock()
	fault := w.putAll(ctx, gain) // what the hub refuses is in the inventory
	w.mu.Lock()
	misses = w.misses()
	w.mu.Unlock()
	if !misses {
		return nil
	}
	covered, err := w.tellCover(ctx)
	if !covered {
		return cmp.Or(err, fault, errUnread)
	}
	return nil
}

// misses reports whether there are pods of which the hub does not know. One that has no inventory of this
// start of the agent does not act, and misses nothing.
func (w *watcher) misses() bool {
	b := &w.beside
	if !b.tried {
		return false
	}
	known := map[string]bool{}
	if b.sure {
		for i := range b.told.Pending {
			known[podKey(&b.told.Pending[i])] = true
		}
	}
	for _, list := range [][]api.PodState{b.now.Pending, w.unheard()} {
		for i := range list {
			if !known[podKey(&list[i])] {
				return true
			}
		}
	}
	return false
}

// unheard are the pods that the hub does not know to be where they are.
func (w *watcher) unheard() []api.PodState {
	var out []api.PodState
	for _, t := range w.nodes {
		out = append(out, t.came()...)
	}
	return out
}

// failed notes an event of which nobody knows whether the hub has it.
func (t *tracked) failed() {
	t.failures++
	if t.perhaps == nil {
		t.perhaps = map[string]bool{}
	}
	for i := range t.state.Pods {
		if p := &t.state.Pods[i]; cluster.Movable(p) {
			t.perhaps[podKey(p)] = true
		}
	}
}

// came are the pods of a node that need a place and of which the hub does not know that they have it.
func (t *tracked) came() []api.PodState {
	if t.gone || t.stored >= t.version {
		return nil
	}
	var known map[string]bool
	if !t.lost {
		known = movable(t.pods)
	}
	var out []api.PodState
	for i := range t.state.Pods {
		if p := &t.state.Pods[i]; cluster.Movable(p) && !known[podKey(p)] {
			out = append(out, *p)
		}
	}
	return out
}

// loses reports whether a pod is not on the node any more, or needs no place, that the hub may know to be.
func (t *tracked) loses() bool {
	if t.stored >= t.version {
		return false
	}
	var now map[string]bool
	if !t.gone {
		now = movable(t.state.Pods)
	}
	for key := range t.perhaps {
		if !now[key] {
			return true
		}
	}
	for i := range t.pods {
		if p := &t.pods[i]; cluster.Movable(p) && !now[podKey(p)] {
			return true
		}
	}
	return false
}

// movable are the keys of the pods that need a place.
func movable(pods []api.PodState) map[string]bool {
	keys := make(map[string]bool, len(pods))
	for i := range pods {
		if p := &pods[i]; cluster.Movable(p) {
			keys[podKey(p)] = true
		}
	}
	return keys
}
