package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
)

// putters is how many events are on their way at once.
const putters = 4

// tell brings to the hub what it does not have, as far as the interval allows: events, then the inventory
// that counts them. It returns when there is more to tell, zero when something must happen first.
func (w *watcher) tell(ctx context.Context) time.Time {
	w.mu.Lock()
	again := w.retryAt
	w.mu.Unlock()
	if !w.o.Hub.Connected() || time.Now().Before(again) {
		return again
	}
	now := time.Now()
	due, next := w.due(now)
	if len(due) > 0 {
		next = sooner(next, now.Add(w.o.Resync))
	}
	err := w.putAll(ctx, due)
	if err == nil {
		var later time.Time
		later, err = w.tellBeside(ctx)
		next = sooner(next, later)
	}
	if ctx.Err() != nil {
		return time.Time{}
	}
	if err != nil {
		w.blame(&w.putFault, err)
		return w.backOff()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.putFault, w.retry, w.retryAt = "", 0, time.Time{}
	return next
}

// backOff returns when to try again.
func (w *watcher) backOff() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retry = min(max(firstRetry, 2*w.retry), mostRetry)
	w.retryAt = time.Now().Add(w.retry)
	return w.retryAt
}

// due lists the nodes to tell of now, those that the hub did not take last, and when the next one is.
func (w *watcher) due(now time.Time) (names []string, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, t := range w.nodes {
		at := t.told.Add(w.o.Resync)
		switch {
		case t.stored == 0:
			at = now
		case t.stored < t.version:
			at = sooner(at, t.told.Add(w.o.Interval))
		case !at.After(now):
			t.stored = 0
		}
		if at.After(now) {
			next = sooner(next, at)
		} else {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(w.nodes[a].failures, w.nodes[b].failures), strings.Compare(a, b))
	})
	return names, next
}

// sooner is the earlier of two times; the zero time is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// putAll tells of several nodes, and goes on with the others when the hub does not take some, until each
// of the putters met one.
func (w *watcher) putAll(ctx context.Context, names []string) error {
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
				w.mu.Lock()
				t := w.nodes[name]
				w.mu.Unlock()
				if t == nil {
					continue
				}
				if faults[i] = w.put(ctx, name, t); faults[i] != nil {
					return
				}
			}
		})
	}
	running.Wait()
	return cmp.Or(faults...)
}

// put tells the hub the newest state of a node, unless it has it.
func (w *watcher) put(ctx context.Context, name string, t *tracked) error {
	t.putting.Lock()
	defer t.putting.Unlock()
	w.mu.Lock()
	if t.stored >= t.version {
		w.mu.Unlock()
		return nil
	}
	w.sequence++
	version := t.version
	e := api.NodeEvent{Boot: w.boot, Sequence: w.sequence, At: w.stamp(t.at), Node: t.state, Gone: t.gone}
	t.tried = true
	w.mu.Unlock()
	withheld, err := w.send(ctx, &e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		t.failures++
		return err
	}
	t.failures = 0
	t.stored, t.sequence, t.told = version, e.Sequence, time.Now()
	if withheld != "" && t.withheld == "" {
		w.o.Log.Warn().Str("node", name).Msg(withheld)
	}
	t.withheld = withheld
	switch {
	case !e.Gone:
		w.newest = name
	case w.newest == name:
		w.newest = ""
	}
	if e.Gone && t.version == version && w.nodes[name] == t {
		delete(w.nodes, name)
	}
	return nil
}

// send puts an event. A state that is too large is told to be so.
func (w *watcher) send(ctx context.Context, e *api.NodeEvent) (withheld string, err error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	err = w.o.Hub.PutNodeEvent(ctx, *e)
	if !errors.Is(err, bus.ErrTooLarge) {
		return "", err
	}
	withheld = tooLarge(fmt.Sprintf("its state with %d pods", len(e.Node.Pods)), err)
	e.Node = reduced(&e.Node, withheld)
	return withheld, w.o.Hub.PutNodeEvent(ctx, *e)
}

func tooLarge(what string, err error) string {
	why := err.Error()
	if at := strings.Index(why, bus.ErrTooLarge.Error()); at >= 0 {
		why = why[at:]
	}
	return fmt.Sprintf("%s cannot be told (%s); no node of the member is disrupted until it is smaller", what, why)
}

// reduced is what is left of a state that is too large: enough to count the node.
func reduced(n *api.NodeState, why string) api.NodeState {
	out := api.NodeState{Name: n.Name, UID: n.UID, Managed: n.Managed, Deleting: n.Deleting, Withheld: why}
	if pool, ok := n.Labels[api.LabelNodePool]; ok {
		out.Labels = map[string]string{api.LabelNodePool: pool}
	}
	return out
}

// stamp is the time of a look as it is told: later than what an earlier process of the agent told, even
// when the clock was set back since.
func (w *watcher) stamp(at time.Time) metav1.Time {
	at = at.UTC().Truncate(time.Second)
	if !at.After(w.floor) {
		at = w.floor.Add(time.Second)
	}
	return metav1.NewTime(at)
}
