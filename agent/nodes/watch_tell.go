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

// tell brings to the hub what it does not have, as far as the interval allows. It returns when there is
// more to tell, zero when something must happen first. The turn is held.
func (w *watcher) tell(ctx context.Context) time.Time {
	w.mu.Lock()
	again := w.retryAt
	w.mu.Unlock()
	if !w.hub.Connected() || w.now().Before(again) {
		return again
	}
	next, err := w.round(ctx)
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
	w.retryAt = w.now().Add(w.retry)
	return w.retryAt
}

// due lists the nodes to tell of now, those that the hub did not take last, apart from those that lose pods;
// next is when the next one is.
func (w *watcher) due(now time.Time) (first, last []string, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, t := range w.nodes {
		if at := w.dueAt(t); at.After(now) {
			next = sooner(next, at)
			continue
		}
		if t.stored == t.version {
			t.stored = 0
		}
		if t.gone || t.loses() {
			last = append(last, name)
		} else {
			first = append(first, name)
		}
	}
	w.sort(first)
	w.sort(last)
	return first, last, next
}

// dueAt is when a node may be told of again, or must be. What changes is told together.
func (w *watcher) dueAt(t *tracked) time.Time {
	at := t.told.Add(w.o.Resync)
	if t.stored < t.version {
		at = t.told.Add(w.o.Interval)
	}
	if open := w.paced.Add(w.o.Interval); open.After(at) {
		return open
	}
	return at
}

func (w *watcher) sort(names []string) {
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(w.nodes[a].failures, w.nodes[b].failures), strings.Compare(a, b))
	})
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
	w.mu.Lock()
	if t.stored >= t.version {
		w.mu.Unlock()
		return nil
	}
	w.sequence++
	e := api.NodeEvent{Boot: w.boot, Sequence: w.sequence, At: w.stamp(t.at), Node: t.state, Gone: t.gone}
	t.tried = true
	w.mu.Unlock()
	withheld, err := w.send(ctx, &e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		t.failed()
		return err
	}
	t.stored, t.sequence, t.told = t.version, e.Sequence, w.now()
	t.failures, t.lost, t.pods, t.perhaps = 0, false, e.Node.Pods, nil
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
	if e.Gone {
		delete(w.nodes, name)
	}
	return nil
}

// send puts an event. A state that is too large is told to be so.
func (w *watcher) send(ctx context.Context, e *api.NodeEvent) (withheld string, err error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	err = w.hub.PutNodeEvent(ctx, *e)
	if !errors.Is(err, bus.ErrTooLarge) {
		return "", err
	}
	withheld = tooLarge(fmt.Sprintf("its state with %d pods", len(e.Node.Pods)), err)
	e.Node = reduced(&e.Node, withheld)
	return withheld, w.hub.PutNodeEvent(ctx, *e)
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
