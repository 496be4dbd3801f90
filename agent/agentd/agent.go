package agentd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"flotilla/agent/keeper"
	"flotilla/agent/target"
	"flotilla/agent/target/memory"
	"flotilla/agent/worker"
	"flotilla/bus"
	"flotilla/bus/member"
)

// Agent is one agent. Make it with New; Start and Stop it once.
type Agent struct {
	o      Options
	target target.Target
	memory *memory.Member // nil when the target is another one
	wallet *member.Wallet // nil when others make the credentials

	mu      sync.Mutex
	started bool
	metrics string         // address they are served at
	undo    []func() error // done by Stop, the last one first
}

// New checks the options and opens the target, which Stop closes; nothing else runs yet. The error is strict.Faults when the
// configuration is wrong.
func New(o Options) (*Agent, error) {
	if o.Config.Member == "" {
		return nil, errors.New("the agent needs the name of its member: --member NAME")
	}
	if faults := o.Config.Validate(); len(faults) > 0 {
		return nil, faults
	}
	o.Now = bus.Clock(o.Now)
	a := &Agent{o: o}
	if err := a.openWallet(); err != nil {
		return nil, err
	}
	if err := a.openTarget(); err != nil {
		return nil, err
	}
	a.onStop(a.closeTarget)
	return a, nil
}

// Member is the name of the member.
func (a *Agent) Member() string { return a.o.Config.Member }

// Memory is the member in memory, for faults and for looking at it; nil when the target is another.
func (a *Agent) Memory() *memory.Member { return a.memory }

// MetricsAddress is where metrics are served, empty when they are not; port 0 of the configuration has
// become a real one.
func (a *Agent) MetricsAddress() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.metrics
}

// Start connects, in the background and for ever, and begins to work with what is on disk. It returns
// as soon as that is under way; ctx bounds the start alone.
func (a *Agent) Start(ctx context.Context) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started {
		return fmt.Errorf("the agent of %s was started already", a.Member())
	}
	a.started = true
	defer func() {
		if err != nil {
			err = errors.Join(err, a.unwind())
		}
	}()
	conn, err := member.Connect(ctx, a.o.bus(a.wallet), a.Member())
	if err != nil {
		return err
	}
	a.onStop(func() error { conn.Close(); return nil })
	w, err := worker.New(worker.Options{
		Member: a.Member(), Hub: conn, Target: a.target, Data: a.o.Config.DataDir, PollEvery: a.o.PollEvery,
		Blank: a.blank, Log: a.o.Log,
	})
	if err != nil {
		return err
	}
	a.greet(conn)
	var renewal func() string
	if a.wallet != nil {
		k := keeper.New(keeper.Options{Member: a.Member(), Hub: conn, Log: a.o.Log})
		renewal = k.Failing
		a.run(k.Run)
	}
	a.run(w.Run)
	up, err := a.upgrader(conn)
	if err != nil {
		return err
	}
	room, err := a.nodes(conn)
	if err != nil {
		return err
	}
	folder := &folder{path: a.o.Config.DataDir, log: a.o.Log, now: a.o.Now, again: func() {
		w.Look()
		up.Look()
		if room != nil {
			room.Look()
		}
	}}
	b, err := a.heart(conn, w, folder, renewal, func() string { return cmp.Or(w.Trouble(), up.Trouble(), troubleOf(room)) })
	if err != nil {
		return err
	}
	a.run(a.advise(conn))
	a.run(up.Run)
	if room != nil {
		a.run(func(ctx context.Context) error {
			if a.untilOurs(ctx) != nil {
				return nil
			}
			return room.Run(ctx)
		})
	}
	a.run(func(ctx context.Context) error { b.Run(ctx); return nil })
	if a.memory != nil {
		a.run(a.followFaults)
	}
	return a.serveMetrics(registry(a.Member(), conn, w, room), a.readiness(conn, folder, b)...)
}

// run starts f and makes Stop end it and wait for it.
func (a *Agent) run(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := f(ctx)
		if err != nil && ctx.Err() == nil {
			a.o.Log.Error().Err(err).Msgf("a part of the agent of %s ended", a.Member())
		}
		done <- err
	}()
	a.onStop(func() error { cancel(); return <-done })
}

func (a *Agent) onStop(f func() error) { a.undo = append(a.undo, f) }

// Stop ends everything and waits for it. Calling it again does nothing.
func (a *Agent) Stop() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unwind()
}

func (a *Agent) unwind() error {
	var faults []error
	for _, f := range slices.Backward(a.undo) {
		faults = append(faults, f())
	}
	a.undo = nil
	return errors.Join(faults...)
}

// Run runs an agent until ctx ends.
func Run(ctx context.Context, o Options) error {
	a, err := New(o)
	if err != nil {
		return err
	}
	if err := a.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return a.Stop()
}
