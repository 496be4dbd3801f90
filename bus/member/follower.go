package member

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
)

const (
	// pursuitPatience is how long a hint is followed whose command does not show up: it may be forged.
	pursuitPatience = 30 * time.Second
	// pursuitFirst and pursuitMost bound the delay between two reads of one chase.
	pursuitFirst = 20 * time.Millisecond
	pursuitMost  = 2 * time.Second
	// pursuitEvery is how often a command is read without a hint.
	pursuitEvery = 3 * time.Minute
	// pursuitBeyondLink is how often where hints come over the link of a leaf node: they are lost while it is cut,
	// and nothing tells the agent that it was.
	pursuitBeyondLink = 20 * time.Second
	// pursuitConnected is how soon it is read again after the connection to one of several servers came up, each time
	// after twice as long: what was announced meanwhile was not heard, and a replica that answers may be behind. A server
	// that is alone is not.
	pursuitConnected = time.Second
)

// FollowerOptions say which command of a member is followed. Hub, Kind and Take, or Index, are needed. The
// functions are called one at a time, on the goroutine of Run.
type FollowerOptions struct {
	Hub *Conn
	// Kind is one of subjects.CommandKinds.
	Kind string
	// Every is how often the command is read without being hinted, 3 min when 0, 20 s at most at a leaf node;
	// up to a quarter is taken off at random.
	Every time.Duration
	// Take is given the stored command each time it was read: the same one many times, and an older one
	// when the broker lost its last writes.
	Take func(ctx context.Context, body []byte, sequence uint64)
	// Index follows a command that has changes, in place of Take.
	Index Index
	// Refused is told why a stored command is not one to take, an ErrNotOfHub; nil is not.
	Refused func(err error)
	// None is called each time the hub has no such command; nil is not.
	None func()
	// Idle is called when nothing was heard for Every, before the command is read again; nil is not.
	Idle func(ctx context.Context)
}

// Follower keeps an agent up with one kind of its commands: it reads the stored one when Run begins, when
// the connection comes up, when a newer one is announced, and every few minutes. What is announced is
// only a reason to look: reading goes on, with back-off, until the stored sequence has come to it or half
// a minute went by.
type Follower struct {
	o        FollowerOptions
	patience time.Duration
	nudges   chan struct{}
	hinted   atomic.Uint64
	// soon is after how many nanoseconds the command is read without a hint while that is less than usual.
	soon atomic.Int64
	// taken is the sequence of what was taken last, where a command has changes.
	taken uint64
}

// NewFollower returns a pursuit; Run it once.
func NewFollower(o FollowerOptions) *Follower {
	if o.Every <= 0 {
		o.Every = pursuitEvery
	}
	if o.Refused == nil {
		o.Refused = func(error) {}
	}
	if o.None == nil {
		o.None = func() {}
	}
	if o.Idle == nil {
		o.Idle = func(context.Context) {}
	}
	return &Follower{o: o, patience: pursuitPatience, nudges: make(chan struct{}, 1)}
}

// Look makes Run read the command once more, soon. It does not block.
func (p *Follower) Look() {
	select {
	case p.nudges <- struct{}{}:
	default:
	}
}

// Run follows the command until ctx ends. The error says that hints cannot be heard.
func (p *Follower) Run(ctx context.Context) error {
	deaf, err := p.o.Hub.OnHint(p.hint)
	if err != nil {
		return fmt.Errorf("following command %s: %w", p.o.Kind, err)
	}
	defer deaf()
	defer p.o.Hub.OnConnect(p.connected)()
	var quiet time.Duration // for how long nothing was heard
	for {
		p.catchUp(ctx)
		listens := p.o.Hub.looksEvery() == 0
		every := p.every()
		wait := every - time.Duration(rand.Float64()*float64(every)/4)
		idle := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			idle.Stop()
			return nil
		case <-p.nudges:
			idle.Stop()
			quiet = 0
		case <-idle.C:
			if quiet += wait; listens || quiet >= p.o.Every*3/4 {
				quiet = 0
				p.o.Idle(ctx)
			}
		}
	}
}

// connected has the command read now, and soon again where the server is not alone.
func (p *Follower) connected() {
	if p.o.Hub.amongServers() {
		p.soon.Store(int64(pursuitConnected))
	}
	p.Look()
}

// every is how long to wait for a hint before the command is read anyway.
func (p *Follower) every() time.Duration {
	every := p.o.Every
	if p.o.Hub.beyondLink() {
		every = min(every, pursuitBeyondLink)
	}
	if looks := p.o.Hub.looksEvery(); looks > 0 {
		every = min(every, looks)
	}
	soon := time.Duration(p.soon.Load())
	if soon == 0 || soon >= every {
		return every
	}
	p.soon.CompareAndSwap(int64(soon), int64(2*soon))
	return soon
}

// hint notes that a command with that sequence was announced; without a kind any may have been.
func (p *Follower) hint(kind string, sequence uint64) {
	if kind != "" && kind != p.o.Kind {
		return
	}
	for {
		known := p.hinted.Load()
		if sequence <= known || p.hinted.CompareAndSwap(known, sequence) {
			break
		}
	}
	p.Look()
}

// catchUp reads the command until the stored one is at least as new as the newest hint.
func (p *Follower) catchUp(ctx context.Context) {
	until := time.Now().Add(p.patience)
	retry := loop.Backoff{First: pursuitFirst, Most: pursuitMost}
	for ctx.Err() == nil && p.o.Hub.Connected() {
		want := p.hinted.Load()
		got, err := p.read(ctx)
		switch {
		case err == nil && got >= want:
			return
		case errors.Is(err, bus.ErrNotFound) && want == 0:
			return
		case time.Now().After(until):
			if p.giveUp(want, got, err) {
				return
			}
			until = time.Now().Add(p.patience)
		}
		again := time.NewTimer(loop.Spread(retry.Next()))
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-p.nudges:
			retry.Reset()
		}
		again.Stop()
	}
}

// giveUp forgets a hint, unless a newer one came since.
func (p *Follower) giveUp(want, got uint64, err error) bool {
	if !p.hinted.CompareAndSwap(want, 0) {
		return false
	}
	text := "the announced command did not show up"
	if want == 0 {
		text = "the command cannot be read"
	}
	p.o.Hub.conn.Log.Warn().Err(err).Str("command", p.o.Kind).Uint64("hinted", want).Uint64("stored", got).Msg(text)
	return true
}

// read reads the stored command and hands it over. It returns its sequence.
func (p *Follower) read(ctx context.Context) (sequence uint64, err error) {
	if p.o.Index != nil {
		sequence, err = p.readIndex(ctx)
	} else {
		sequence, err = p.readWhole(ctx)
	}
	switch {
	case errors.Is(err, bus.ErrNotFound):
		p.o.None()
	case errors.Is(err, bus.ErrNotOfHub):
		p.o.Refused(err)
	}
	return sequence, err
}

func (p *Follower) readWhole(ctx context.Context) (uint64, error) {
	body, sequence, err := p.o.Hub.Command(ctx, p.o.Kind)
	if err == nil {
		p.o.Take(ctx, body, sequence)
	}
	return sequence, err
}
