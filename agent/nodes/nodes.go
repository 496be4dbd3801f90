package nodes

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/agent/target"
	"flotilla/bus/member"
)

// Options of Nodes. Member, Hub, Target, Provider and Data are needed.
type Options struct {
	Member string
	Hub    *member.Conn
	Target target.Nodes
	// Provider makes and takes away the machines of nodes.
	Provider Provider
	// Data is the agent's data directory; the room keeps to its folder "nodes".
	Data string
	// Interval is the least time between two events of a node, and between two inventories, 5 s when 0. What
	// must be told before a node may be gone does not wait for it.
	Interval time.Duration
	// Resync is how often everything is told although it is the same, 1 h when 0.
	Resync time.Duration
	// PollEvery is how often the command is read without a hint, and the member looked at without a
	// change, 3 min when 0.
	PollEvery time.Duration
	// LeastDrain is the least time between the taint of a node and the end of its machine, 5 s when 0.
	LeastDrain time.Duration
	Log        zerolog.Logger
}

// Defaults of Options.
const (
	defaultInterval = 5 * time.Second
	defaultResync   = time.Hour
	defaultPoll     = 3 * time.Minute
)

// Nodes is the room. Make it with New, run it once.
type Nodes struct {
	o         Options
	report    *reporter
	lifecycle *lifecycle
}

// New opens the folder of the data directory and goes on with what it finds there.
func New(o Options) (*Nodes, error) {
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.Resync <= 0 {
		o.Resync = defaultResync
	}
	if o.PollEvery <= 0 {
		o.PollEvery = defaultPoll
	}
	n := &Nodes{o: o}
	r, err := newReporter(&n.o, filepath.Join(o.Data, "nodes"))
	if err != nil {
		return nil, fmt.Errorf("opening what is remembered of the nodes of %s: %w", o.Member, err)
	}
	n.report = r
	if n.lifecycle, err = newLifecycle(&n.o, r.flush); err != nil {
		return nil, err
	}
	return n, nil
}

// Run works until ctx ends.
func (n *Nodes) Run(ctx context.Context) error {
	var reporting sync.WaitGroup
	defer reporting.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reporting.Go(func() { n.report.run(ctx) })
	return n.lifecycle.run(ctx)
}

// Look reads the newest command again, soon.
func (n *Nodes) Look() { n.lifecycle.pursuit.Look() }

// Trouble says what keeps the hub from acting on the member's nodes, empty when nothing does.
func (n *Nodes) Trouble() string { return cmp.Or(n.report.trouble(), n.lifecycle.trouble()) }

// Unpublished is how many nodes have a state that the hub does not have.
func (n *Nodes) Unpublished() int { return n.report.unpublished() }

// wake makes the reader of a channel of capacity 1 look once more, soon.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
