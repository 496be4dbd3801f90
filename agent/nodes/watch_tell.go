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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
)

// putters is how many events are on their way at once.
const putters = 4

// takenAnyway is how often in a row the hub must have refused a node before others no longer wait for it.
const takenAnyway = 3

// tell brings to the hub what it does not have, as far as the interval allows. It returns when there is
// more to tell, zero when something must happen first.
func (w *watcher) tell(ctx context.Context) time.Time {
	w.mu.Lock()
	again := w.retryAt
	w.mu.Unlock()
	if !w.o.Hub.Connected() || time.Now().Before(again) {
		return again
	}
	next, err := w.tellAll(ctx, false)
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

// tellAll tells all that the hub does not have once the interval since the last time is over, or at once
// when it is pressed: nodes to which pods came, then the inventory, and last the nodes that pods left, so
// that at no time the hub misses a pod that has moved. It returns when there is more to tell.
func (w *watcher) tellAll(ctx context.Context, pressed bool) (next time.Time, err error) {
	w.busy.Lock()
	defer w.busy.Unlock()
	return w.tellLooked(ctx, pressed)
}

// tellLooked is tellAll; busy is held.
func (w *watcher) tellLooked(ctx context.Context, pressed bool) (next time.Time, err error) {
	now := time.Now()
	w.mu.Lock()
	gaining, losing, next := w.due(now)
	beside, later := w.besideDue(now)
	open := w.paced.Add(w.o.Interval)
	switch {
	case len(gaining) == 0 && len(losing) == 0 && !beside:
		w.mu.Unlock()
		return sooner(next, later), nil
	case !pressed && open.After(now):
		w.mu.Unlock()
		return open, nil
	}
	w.paced = now
	w.mu.Unlock()
	if err = w.putAll(ctx, gaining); err == nil {
		_, err = w.tellBeside(ctx)
	} else if w.mayTake() {
		return time.Time{}, err
	}
	if err = cmp.Or(w.putAll(ctx, losing), err); err == nil && len(losing) > 0 {
		_, err = w.tellBeside(ctx) // without the pods that it listed because of those nodes
	}
	return now.Add(w.o.Interval), err
}

// mayTake reports whether the hub may yet take what it did not when it is asked again.
func (w *watcher) mayTake() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.nodes {
		if t.stored < t.version && t.failures < takenAnyway && (t.stored == 0 || !t.loses()) {
			return true
		}
	}
	return false
}

// backOff returns when to try again.
func (w *watcher) backOff() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retry = min(max(firstRetry, 2*w.retry), mostRetry)
	w.retryAt, w.paced = time.Now().Add(w.retry), time.Time{}
	return w.retryAt
}

// due lists the nodes to tell of, those that the hub did not take last, apart from those that pods left;
// next is when one is to be told again that did not change.
func (w *watcher) due(now time.Time) (gaining, losing []string, next time.Time) {
	for name, t := range w.nodes {
		resync := t.told.Add(w.o.Resync)
		if t.stored == t.version && !resync.After(now) {
			t.stored = 0
		}
		switch {
		case t.stored == t.version:
			next = sooner(next, resync)
		case t.stored > 0 && t.loses():
			losing = append(losing, name)
		default:
			gaining = append(gaining, name)
		}
	}
	order := func(a, b string) int {
		return cmp.Or(cmp.Compare(w.nodes[a].failures, w.nodes[b].failures), strings.Compare(a, b))
	}
	slices.SortFunc(gaining, order)
	slices.SortFunc(losing, order)
	return gaining, losing, next
}

// loses reports whether a pod that the hub knows to be on a node is not, or begins to end.
func (t *tracked) loses() bool {
	now := map[string]*api.PodState{}
	if !t.gone {
		now = byKey(t.state.Pods)
	}
	return slices.ContainsFunc(t.pods, func(was api.PodState) bool {
		is := now[podKey(&was)]
		return is == nil || runs(&was) && !runs(is)
	})
}

// came are the pods that run on a node and of which the hub does not know that.
func (t *tracked) came() []api.PodState {
	told := byKey(t.pods)
	return slices.DeleteFunc(slices.Clone(t.state.Pods), func(p api.PodState) bool {
		was := told[podKey(&p)]
		return !runs(&p) || was != nil && runs(was)
	})
}

func byKey(pods []api.PodState) map[string]*api.PodState {
	out := make(map[string]*api.PodState, len(pods))
	for i := range pods {
		out[podKey(&pods[i])] = &pods[i]
	}
	return out
}

// runs reports whether a pod takes its place for longer.
func runs(p *api.PodState) bool {
	return !p.Terminating && p.Phase != string(corev1.PodSucceeded) && p.Phase != string(corev1.PodFailed)
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
	t.stored, t.sequence, t.told, t.pods = version, e.Sequence, time.Now(), e.Node.Pods
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
