package nodes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"flotilla/agent/disk"
	"flotilla/agent/target"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/nodesync"
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
	// writeEvery is how often what is remembered is written down that the next process could not find out, writeAnyway
	// how often all of it.
	writeEvery  = 2 * time.Second
	writeAnyway = 10 * time.Second
)

// reporter looks at the member and tells the hub what it sees; core/nodesync says what and in which order.
type reporter struct {
	o   *Options
	hub conn
	now func() time.Time
	// nudges make run look again, news only tell.
	nudges, news chan struct{}

	turn     sync.Mutex // one look or telling at a time: what is told together is of one look
	observer cluster.Observer

	mu        sync.Mutex
	sync      *nodesync.Sync
	path      string // of what is remembered
	written   time.Time
	readback  readback
	lookTime  time.Duration
	lookFault string
	retry     retry
}

// retry is when to tell again what the hub did not take, and why it did not.
type retry struct {
	loop.Backoff
	at    time.Time
	fault string
}

// conn is what the reporter needs of the connection to the hub.
type conn interface {
	Connected() bool
	OnConnect(f func()) (cancel func())
	PutNodeEvent(ctx context.Context, e api.NodeEvent) error
	PutNodeInventory(ctx context.Context, i api.NodeInventory) error
	NodeEvent(ctx context.Context, node string) (api.NodeEvent, error)
	NodeInventory(ctx context.Context) (api.NodeInventory, error)
}

func newReporter(o *Options, folder string) (*reporter, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	path, past := filepath.Join(folder, "seen.json"), map[string]nodesync.Past{}
	if err := disk.Read(path, &past); err != nil && !os.IsNotExist(err) {
		o.Log.Warn().Err(err).Msg("when pods last came and went is not remembered")
		past = nil
	}
	return &reporter{
		o: o, hub: o.Hub, now: o.Hub.Now, nudges: make(chan struct{}, 1), news: make(chan struct{}, 1), path: path,
		sync:  nodesync.New(rand.Text(), nodesync.Pace{Interval: o.Interval, Resync: o.Resync}, past),
		retry: retry{Backoff: loop.Backoff{First: firstRetry, Most: mostRetry}},
	}, nil
}

// run looks and tells until ctx ends.
func (r *reporter) run(ctx context.Context) {
	defer r.hub.OnConnect(r.connected)()
	defer r.write(true)
	changes := r.o.Target.Watch(ctx)
	for look := true; ctx.Err() == nil; {
		next := r.pass(ctx, look)
		r.write(false)
		look = r.rest(ctx, changes, next)
	}
}

// pass looks at the member if it is to, and tells what there is to tell; it returns when to do so again.
func (r *reporter) pass(ctx context.Context, look bool) time.Time {
	r.turn.Lock()
	defer r.turn.Unlock()
	if look && r.look(ctx) == nil {
		r.compare(ctx)
	}
	return r.tell(ctx)
}

// look reads the member and notes what changed. The turn is held.
func (r *reporter) look(ctx context.Context) error {
	began := r.now()
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s, err := r.o.Target.Survey(limited)
	if err != nil {
		if ctx.Err() == nil {
			r.blame(&r.lookFault, err)
		}
		return err
	}
	seen := r.observer.Observe(listing(s))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookFault = ""
	if r.sync.See(&seen, began) {
		r.lookForSuccessors()
	}
	r.lookTime = r.now().Sub(began)
	return nil
}

// lookForSuccessors looks again when pods that left are not waited for any more.
func (r *reporter) lookForSuccessors() {
	time.AfterFunc(nodesync.SuccessorTime+gatherTime, r.wake)
}

// blame keeps a fault and logs it once.
func (r *reporter) blame(at *string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *at == "" {
		r.o.Log.Warn().Err(err).Msg("the hub cannot be told the state of the member's nodes")
	}
	*at = err.Error()
	if at == &r.lookFault {
		r.sync.Blind()
	}
}

func listing(s *target.Survey) *cluster.Listing {
	return &cluster.Listing{
		Nodes: s.Nodes, Pods: s.Pods, Budgets: s.Budgets, DaemonSets: s.DaemonSets, Namespaces: s.Namespaces,
		Claims: s.Claims, Volumes: s.Volumes, Classes: s.Classes, CSINodes: s.CSINodes, NodeClaims: s.NodeClaims,
	}
}

// connected makes run compare what the hub has with what it was told, and tell what is missing.
func (r *reporter) connected() {
	r.mu.Lock()
	r.readback, r.retry.at = readback{due: true, anew: true}, time.Time{}
	r.retry.Reset()
	r.mu.Unlock()
	wake(r.nudges)
}

// wake makes run look at the member again, soon.
func (r *reporter) wake() { wake(r.nudges) }

// rest waits until there is a cause to look at the member, or to tell by the given time what is known. It
// reports which.
func (r *reporter) rest(ctx context.Context, changes <-chan target.Change, tell time.Time) (look bool) {
	poll := r.o.PollEvery
	if changes == nil || r.blind() {
		poll = min(poll, blindEvery)
	}
	idle := time.NewTimer(poll - time.Duration(mathrand.Float64()*float64(poll)/4))
	defer idle.Stop()
	var due <-chan time.Time
	if !tell.IsZero() {
		timer := time.NewTimer(tell.Sub(r.now()))
		defer timer.Stop()
		due = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return false
		case <-r.news:
			return false
		case <-idle.C:
			r.recheck()
			return true
		case <-r.nudges:
			return true
		case c, open := <-changes:
			switch {
			case !open:
				changes = nil
			case c.Nodes || c.Pods || c.Health:
				r.gather(ctx, changes)
				return true
			}
		}
	}
}

// blind reports that the last look saw nothing.
func (r *reporter) blind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lookFault != ""
}

// gather waits for more changes to come, and drops them.
func (r *reporter) gather(ctx context.Context, changes <-chan target.Change) {
	r.mu.Lock()
	wait := max(min(gatherTime, r.o.Interval), (gatherShare-1)*r.lookTime)
	r.mu.Unlock()
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
func (r *reporter) write(now bool) {
	r.mu.Lock()
	var kept map[string]nodesync.Past
	since := r.now().Sub(r.written)
	if now || since >= writeAnyway || since >= writeEvery && r.sync.Pressing() {
		kept, r.written = r.sync.Keep(), r.now()
	}
	r.mu.Unlock()
	if kept == nil {
		return
	}
	body, err := json.Marshal(kept)
	if err == nil {
		err = disk.Replace(r.path, body, false) // a power failure may take it
	}
	if err != nil {
		r.o.Log.Warn().Err(err).Msg("writing down when pods last came and went")
	}
}

// trouble says what keeps the hub from acting on the member's nodes, empty when nothing does.
func (r *reporter) trouble() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.lookFault != "":
		return "the nodes of the member cannot be read: " + r.lookFault
	case r.retry.fault != "":
		return "the hub is not told the state of nodes: " + r.retry.fault
	}
	return r.sync.Withheld()
}

// unpublished counts the nodes whose newest state the hub does not have.
func (r *reporter) unpublished() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sync.Untold()
}
