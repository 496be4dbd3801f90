package nodes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"flotilla/agent/disk"
	"flotilla/agent/target"
	"flotilla/bus/loop"
	"flotilla/bus/member"
	"flotilla/subjects"
)

const (
	// callTimeout bounds one call to the member. Those to the provider it bounds itself.
	callTimeout = 15 * time.Second
	// settle is how long changes are collected before they are looked at.
	settle = 50 * time.Millisecond
	// lookAgain is when what is under way is looked at again though nothing is known to have changed.
	lookAgain = 2 * time.Second
	// sweepEvery is how often every node is looked at though nothing is known to have changed.
	sweepEvery = time.Minute
)

// Workers at once: nodes that are looked after, disruptions that are followed, calls to the provider.
const (
	nodeWorkers       = 16
	disruptionWorkers = 4
	machineWorkers    = 32
)

// lifecycle carries out what the hub commands and what is deleted on the member. Each node, each
// disruption and each machine is a key of its own queue: one that is stuck holds no other.
type lifecycle struct {
	o       *Options
	ledger  *ledger
	looker  *looker
	pursuit *member.Follower
	results *results
	drains  *drains
	asks    *asks
	acts    *acts
	// tell returns once the hub has the newest state of a node, or that it is gone.
	tell func(ctx context.Context, node string) error

	nodes       *loop.Queue // by name
	disruptions *loop.Queue // by id
	machines    *loop.Queue // "launch/<name>" and "machine/<node>"

	mu     sync.Mutex
	faults string
	told   map[string]map[string]bool // by disruption, its nodes whose end the hub was told of, and "launch/<name>" of its launches that are over
}

// newLifecycle opens the folder of the data directory and goes on with what it finds there.
func newLifecycle(o *Options, tell func(ctx context.Context, node string) error) (*lifecycle, error) {
	l, err := openLedger(filepath.Join(o.Data, "nodes"), o.Member)
	if err != nil {
		return nil, fmt.Errorf("%w; move the folder away only when no node of member %s is being disrupted", err, o.Member)
	}
	c := &lifecycle{
		o: o, ledger: l, looker: newLooker(o.Target, o.Hub.Now), tell: tell, results: newResults(o.Hub, o.Log), drains: newDrains(),
		asks: newAsks(), acts: newActs(), told: map[string]map[string]bool{},
	}
	queue := func(workers int, what string, most time.Duration) *loop.Queue {
		return loop.New(loop.Options{Workers: workers, Now: o.Hub.Now, MaxDelay: most, Failed: func(key string, err error, delay time.Duration) {
			o.Log.Warn().Err(err).Str(what, key).Dur("again", delay).Msg("carrying out what is wanted of nodes")
		}})
	}
	c.nodes = queue(nodeWorkers, "node", 10*time.Second)
	c.disruptions = queue(disruptionWorkers, "disruption", 10*time.Second)
	c.machines = queue(machineWorkers, "machine", 30*time.Second)
	c.pursuit = member.NewFollower(member.FollowerOptions{
		Hub: o.Hub, Kind: subjects.CommandDisruption, Every: o.PollEvery, Take: c.take, None: c.none, Idle: func(context.Context) { o.Hub.CompareResults() },
	})
	return c, nil
}

// run works until ctx ends. What is under way then goes on when the agent does.
func (c *lifecycle) run(ctx context.Context) error {
	c.o.Hub.KeepResults(subjects.CommandDisruption, func(id string) bool {
		_, commanded := c.ledger.command()
		return !commanded || c.ledger.disruption(id) != nil
	})
	c.machines.Add(holdKey)
	var following sync.WaitGroup
	defer following.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer c.nodes.Start(ctx, c.node)()
	defer c.disruptions.Start(ctx, c.disruption)()
	defer c.machines.Start(ctx, c.machine)()
	defer c.results.queue.Start(ctx, c.results.put)()
	defer cancel()
	following.Go(func() { c.follow(ctx) })
	return c.pursuit.Run(ctx)
}

// trouble says why the hub's newest command is not followed, or what is paid for in vain; empty when
// nothing is wrong.
func (c *lifecycle) trouble() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults != "" {
		return c.faults
	}
	for _, one := range c.ledger.all() {
		if why := c.asks.why(one.Launch.Name); why != "" && !c.ledger.wants(&one) {
			return fmt.Sprintf("launch %s is not wanted any more and cannot be taken back: %s", one.Launch.Name, why)
		}
	}
	return ""
}

func (c *lifecycle) setTrouble(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = text
}

// take takes over the stored command when it is newer.
func (c *lifecycle) take(_ context.Context, body []byte, sequence uint64) {
	before, _ := c.ledger.command()
	changed, err := c.ledger.accept(body, c.o.Hub.Now())
	switch {
	case errors.Is(err, disk.ErrOlder):
		c.o.Log.Warn().Err(err).Uint64("sequence", sequence).Msg("the stored disruption command is not followed")
	case err != nil:
		c.o.Log.Error().Err(err).Uint64("sequence", sequence).Msg("the stored disruption command is not followed")
		c.setTrouble(err.Error())
	default:
		c.setTrouble("")
	}
	if changed {
		c.machines.Add(holdKey)
		c.looker.spoil() // the hub may know of nodes that came after the last look
		for i := range before.Disruptions {
			c.disruptions.Add(before.Disruptions[i].ID)
		}
		c.nodes.Add(everyNode)
	}
}

// none says that the hub has no command though the disk has one.
func (c *lifecycle) none() {
	if command, known := c.ledger.command(); known && !c.ledger.heard() {
		c.setTrouble(fmt.Sprintf("the hub has no command about the nodes of member %s, and the agent's disk has %s: nothing of that is done before the hub has given one", c.o.Member, command.Order))
	}
}

// everyNode is the key of the queue of nodes under which all are looked at for what is to be done. No
// node has that name.
const everyNode = ""

// follow looks at the member when something changed on it.
func (c *lifecycle) follow(ctx context.Context) {
	changes := c.o.Target.Watch(ctx)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		c.looker.spoil()
		c.nodes.Add(everyNode)
		if !c.await(ctx, changes, tick.C) || !collect(ctx, changes) {
			return
		}
	}
}

// await waits for a change that matters, or the tick; false when ctx ends.
func (c *lifecycle) await(ctx context.Context, changes <-chan target.Change, tick <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			return true
		case change, ok := <-changes:
			if !ok {
				changes = nil
			}
			if change.Nodes || change.Health || change.Pods && c.drains.busy() {
				return true
			}
		}
	}
}

// collect lets changes that follow each other become one; false when ctx ends.
func collect(ctx context.Context, changes <-chan target.Change) bool {
	over := time.NewTimer(settle)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-over.C:
			return true
		case _, ok := <-changes:
			if !ok {
				changes = nil
			}
		}
	}
}

// sweep wakes everything that has something to be done, or is under way.
func (c *lifecycle) sweep(ctx context.Context) (time.Time, error) {
	l, err := c.look(ctx)
	if err != nil {
		return time.Time{}, err
	}
	cares := c.cares(l)
	for name, n := range l.nodes {
		if care := cares.of(n); care.going || n.DeletionTimestamp != nil && ours(n) || !care.marked(n) {
			c.nodes.Add(name)
		}
	}
	if command, ok := c.ledger.command(); ok {
		for i := range command.Disruptions {
			c.disruptions.Add(command.Disruptions[i].ID)
		}
	}
	for _, one := range c.ledger.all() {
		c.machines.Add(launchKey + one.Launch.Name)
	}
	c.drains.keep(l)
	c.asks.keep(c.ledger)
	c.acts.keep(l)
	return time.Time{}, nil
}

func (c *lifecycle) look(ctx context.Context) (*look, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	l, err := c.looker.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at the nodes: %w", err)
	}
	return l, nil
}

const (
	launchKey  = "launch/"
	machineKey = "machine/"
)

// machine works on one key of the queue of machines.
func (c *lifecycle) machine(ctx context.Context, key string) (time.Time, error) {
	if key == holdKey {
		return c.hold(ctx)
	}
	if name, ok := strings.CutPrefix(key, launchKey); ok {
		return c.launch(ctx, name)
	}
	return c.remove(ctx, strings.TrimPrefix(key, machineKey))
}
