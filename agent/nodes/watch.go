package nodes

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"flotilla/agent/disk"
	"flotilla/agent/target"
	"flotilla/core/api"
)

const (
	// gatherTime gathers changes of the member before it is looked at. Looks that take long are made
	// rarer: at most one part in gatherShare of the time is spent on them.
	gatherTime  = 300 * time.Millisecond
	gatherShare = 5
	// blindEvery is how often a member is looked at that does not tell its changes, or could not be read.
	blindEvery = 10 * time.Second
	// lookTimeout bounds one look at the member, putTimeout the wait for the server to take something.
	lookTimeout = time.Minute
	putTimeout  = 10 * time.Second
	// firstRetry and mostRetry bound the delay after something that the hub did not take.
	firstRetry = 500 * time.Millisecond
	mostRetry  = 30 * time.Second
	// writeEvery is how often what is remembered is written down.
	writeEvery = 2 * time.Second
)

// watcher looks at the member and tells the hub what it sees.
type watcher struct {
	o    *Options
	hub  conn
	now  func() time.Time
	boot string
	// nudges make run look again, news only tell.
	nudges, news chan struct{}

	turn sync.Mutex // one look or telling at a time: what is told together is of one look

	mu        sync.Mutex
	nodes     map[string]*tracked
	memory    *recollections
	written   time.Time
	beside    beside
	between   between
	sequence  uint64 // of the newest event or inventory that was tried
	newest    string // the node told last, empty when it is gone
	floor     time.Time
	check     bool // what was told is to be read back
	anew      bool // the connection came up since it was
	lookTime  time.Duration
	lookFault string
	putFault  string
	paced     time.Time // when all there was had been told
	owing     time.Time // since when nodes that lost pods wait to be told, zero when none does
	retry     time.Duration
	retryAt   time.Time
}

// tracked is one node, its newest state, and how much of it the hub has.
type tracked struct {
	state api.NodeState
	gone  bool
	// version counts the states, from 1; stored is the version that the hub has, 0 for none.
	version, stored uint64
	// sequence of the newest event that the hub took.
	sequence uint64
	// tried says that an event was sent, taken or not.
	tried    bool
	failures int       // in a row
	at       time.Time // of the look that gave the state
	told     time.Time
	// withheld says why the hub has no more than the node's name, empty when it has all.
	withheld string
	// pods are those of the event that the hub took last, unless lost says that it may not have it any more;
	// perhaps holds the keys of those of later events, of which nobody knows whether it has them.
	pods    []api.PodState
	lost    bool
	perhaps map[string]bool
}

// conn is what the watcher needs of the connection to the hub.
type conn interface {
	Connected() bool
	OnConnect(f func()) (cancel func())
	PutNodeEvent(ctx context.Context, e api.NodeEvent) error
	PutNodeInventory(ctx context.Context, i api.NodeInventory) error
	NodeEvent(ctx context.Context, node string) (api.NodeEvent, error)
	NodeInventory(ctx context.Context) (api.NodeInventory, error)
}

func newWatcher(o *Options, folder string) (*watcher, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	memory, err := recall(folder)
	if err != nil {
		o.Log.Warn().Err(err).Msg("when pods last came and went is not remembered")
	}
	return &watcher{
		o: o, hub: o.Hub, now: o.Hub.Now, boot: rand.Text(), nudges: make(chan struct{}, 1), news: make(chan struct{}, 1),
		nodes: map[string]*tracked{}, memory: memory,
	}, nil
}

// run looks and tells until ctx ends.
func (w *watcher) run(ctx context.Context) {
	defer w.hub.OnConnect(w.connected)()
	defer w.write(true)
	changes := w.o.Target.Watch(ctx)
	for look := true; ctx.Err() == nil; {
		next := w.pass(ctx, look)
		w.write(false)
		look = w.rest(ctx, changes, next)
	}
}

// pass looks at the member if it is to, and tells what there is to tell; it returns when to do so again.
func (w *watcher) pass(ctx context.Context, look bool) time.Time {
	w.turn.Lock()
	defer w.turn.Unlock()
	if look && w.look(ctx) == nil {
		w.compare(ctx)
	}
	return w.tell(ctx)
}

// connected makes run compare what the hub has with what it was told, and tell what is missing.
func (w *watcher) connected() {
	w.mu.Lock()
	w.check, w.anew, w.retry, w.retryAt = true, true, 0, time.Time{}
	w.mu.Unlock()
	wake(w.nudges)
}

// wake makes run look at the member again, soon.
func (w *watcher) wake() { wake(w.nudges) }

// flush looks at the member now and returns once the hub has the newest state of a node, or that it is
// gone, whatever the interval says. A node that was never seen is told to be gone. Where pods went that
// left the node is told first.
func (w *watcher) flush(ctx context.Context, node string) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	if err := w.look(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	t := w.nodes[node]
	if t == nil {
		t = &tracked{state: api.NodeState{Name: node}, gone: true, version: 1, at: w.now()}
		w.nodes[node] = t
	}
	loses := t.loses()
	w.mu.Unlock()
	wake(w.news)
	if loses {
		if err := w.tellGains(ctx); err != nil {
			return err
		}
	}
	return w.put(ctx, node, t)
}

// rest waits until there is a cause to look at the member, or to tell by the given time what is known. It
// reports which.
func (w *watcher) rest(ctx context.Context, changes <-chan target.Change, tell time.Time) (look bool) {
	poll := w.o.PollEvery
	if changes == nil || w.blind() {
		poll = min(poll, blindEvery)
	}
	idle := time.NewTimer(poll - time.Duration(mathrand.Float64()*float64(poll)/4))
	defer idle.Stop()
	var due <-chan time.Time
	if !tell.IsZero() {
		timer := time.NewTimer(tell.Sub(w.now()))
		defer timer.Stop()
		due = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return false
		case <-w.news:
			return false
		case <-idle.C:
			w.recheck()
			return true
		case <-w.nudges:
			return true
		case c, open := <-changes:
			switch {
			case !open:
				changes = nil
			case c.Nodes || c.Pods || c.Health:
				w.gather(ctx, changes)
				return true
			}
		}
	}
}

// blind reports that the last look saw nothing.
func (w *watcher) blind() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lookFault != ""
}

// gather waits for more changes to come, and drops them.
func (w *watcher) gather(ctx context.Context, changes <-chan target.Change) {
	w.mu.Lock()
	wait := max(min(gatherTime, w.o.Interval), (gatherShare-1)*w.lookTime)
	w.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case _, open := <-changes:
			if !open {
				return
			}
		}
	}
}

// write puts what is remembered on the disk, now or when that was not done for a while.
func (w *watcher) write(now bool) {
	w.mu.Lock()
	var kept map[string]recollection
	if now || w.now().Sub(w.written) >= writeEvery {
		kept, w.written = w.memory.snapshot(), w.now()
	}
	path := w.memory.path
	w.mu.Unlock()
	if kept == nil {
		return
	}
	if err := disk.Write(path, kept); err != nil {
		w.o.Log.Warn().Err(err).Msg("writing down when pods last came and went")
	}
}

// trouble says what keeps the hub from acting on the member's nodes, empty when nothing does.
func (w *watcher) trouble() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lookFault != "" {
		return "the nodes of the member cannot be read: " + w.lookFault
	}
	if w.putFault != "" {
		return "the hub is not told the state of nodes: " + w.putFault
	}
	if w.beside.withheld != "" {
		return w.beside.withheld
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if why := w.nodes[name].withheld; why != "" {
			return fmt.Sprintf("node %s: %s", name, why)
		}
	}
	return ""
}

// unpublished counts the nodes whose newest state the hub does not have.
func (w *watcher) unpublished() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, t := range w.nodes {
		if t.stored < t.version {
			n++
		}
	}
	return n
}
