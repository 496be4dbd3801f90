package main

import (
	"context"
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

const (
	// quietFor is for how long nothing happens once a fleet has come to rest.
	quietFor = 700 * time.Millisecond
	// beforeWithin and afterWithin are how long a fleet may take for that before and after a step.
	beforeWithin, afterWithin = 20 * time.Second, 5 * time.Second
)

// step carries one step out and measures it.
func (f *fleet) step(ctx context.Context, s *Step) (*Measured, error) {
	m := &Measured{Step: s.Name, Members: f.members}
	if err := f.rest(ctx, beforeWithin, true); err != nil {
		return nil, err
	}
	if s.Restart != nil {
		return m, f.restarted(ctx, s.Restart, m)
	}
	target, err := f.profile(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	before, err := f.observe(ctx)
	if err != nil {
		return nil, err
	}
	began := elsewhen.Now()
	if err := f.act(ctx, s, m); err != nil {
		return nil, err
	}
	m.Wall = elsewhen.Since(began).Seconds()
	if s.Idle == 0 {
		if err := f.rest(ctx, afterWithin, false); err != nil {
			return nil, err
		}
	}
	after, err := f.observe(ctx)
	if err != nil {
		return nil, err
	}
	m.Span = elsewhen.Since(began).Seconds()
	m.take(after.since(before))
	if m.Agents.Target, err = target(m.Agents.CPU); err != nil {
		return nil, err
	}
	return m, f.tap.check()
}

func (m *Measured) take(o observed) {
	m.Hub, m.Agents, m.Traffic, m.Runs = o.hub, o.agents, o.traffic, o.runs
}

// act does what a step asks for, and returns when it is so.
func (f *fleet) act(ctx context.Context, s *Step, m *Measured) error {
	if s.Churn > 0 {
		if err := f.churn(ctx, s.Churn); err != nil {
			return err
		}
	}
	w := newPending(f)
	var err error
	switch {
	case s.Place != nil:
		err = f.place(ctx, w, s.Name, *s.Place)
	case s.Change != nil:
		err = f.change(ctx, w, *s.Change)
	default:
		pause(ctx, time.Duration(s.Idle))
		err = context.Cause(ctx)
	}
	if err == nil && s.Churn > 0 {
		err = f.churn(ctx, 0)
	}
	w.tell(m)
	return err
}

// tell notes what became of the placements that were waited for.
func (w *pending) tell(m *Measured) {
	m.Latency, m.Looks = quantilesOf(w.took), w.looks
	m.Deliveries = w.delivered
}

// place applies new placements and waits until they are available.
func (f *fleet) place(ctx context.Context, w *pending, step string, o Place) error {
	for i := range o.Placements {
		p := &placement{number: len(f.placements), to: o.To, wave: fmt.Sprintf("%s-%d", step, i/o.AtOnce), members: f.reach(o.To, len(f.placements))}
		f.placements = append(f.placements, p)
		if err := w.apply(ctx, p, o.AtOnce); err != nil {
			return err
		}
	}
	return w.until(ctx, 0)
}

// reach is how many members a placement with that number is for.
func (f *fleet) reach(to string, number int) int {
	switch to {
	case toTenth:
		return (f.members - number%10 + 9) / 10
	case toRanked:
		return max(1, f.members/100)
	}
	return f.members
}

// change applies other content of the oldest placements and waits until it is available.
func (f *fleet) change(ctx context.Context, w *pending, o Change) error {
	if o.Placements > len(f.placements) {
		return fmt.Errorf("change: found %d placements, expected at most the %d that there are", o.Placements, len(f.placements))
	}
	for range max(1, o.Rounds) {
		for _, p := range f.placements[:o.Placements] {
			if err := w.apply(ctx, p, o.AtOnce); err != nil {
				return err
			}
		}
		if err := w.until(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// restarted kills the hub, starts it again and waits until the fleet has caught up.
func (f *fleet) restarted(ctx context.Context, o *Restart, m *Measured) error {
	before, err := f.observe(ctx)
	if err != nil {
		return err
	}
	began := elsewhen.Now()
	if err := f.restart(); err != nil {
		return err
	}
	if err := f.request(ctx, api.VerbVersion, nil, nil); err != nil {
		return err
	}
	m.Ready = elsewhen.Since(began).Seconds()
	w := newPending(f)
	if o.Place > 0 {
		if err := f.place(ctx, w, m.Step, Place{Placements: o.Place, To: toTenth, AtOnce: o.Place}); err != nil {
			return err
		}
		m.First = elsewhen.Since(began).Seconds()
	}
	if o.Change > 0 {
		if err := f.change(ctx, w, Change{Placements: o.Change, AtOnce: o.Change}); err != nil {
			return err
		}
	}
	if err := f.await(ctx, func() error { return f.ready(ctx) }); err != nil {
		return err
	}
	m.Wall = elsewhen.Since(began).Seconds()
	w.tell(m)
	if err := f.rest(ctx, afterWithin, false); err != nil {
		return err
	}
	after, err := f.observe(ctx)
	if err != nil {
		return err
	}
	m.Span = elsewhen.Since(began).Seconds()
	before.hub, before.runs, before.traffic.In, before.traffic.Out = Figures{}, nil, Count{}, Count{} // of the process before
	m.take(after.since(before))
	f.tap.lost.Store(false) // what was sent while it was away is in Stored alone
	return nil
}

// rest waits until nothing but heartbeats is sent any more, and before a step until agents ask for nothing either, as they do
// for a while after they connected. A fleet that does not come to rest is measured as it is.
func (f *fleet) rest(ctx context.Context, within time.Duration, asking bool) error {
	moved := func() int64 {
		if asking {
			return f.tap.storing.Load() + f.tap.asking.Load()
		}
		return f.tap.storing.Load()
	}
	for end := elsewhen.Now().Add(within); elsewhen.Now().Before(end); {
		before := moved()
		if !pause(ctx, quietFor) {
			return context.Cause(ctx)
		}
		if moved() == before {
			return nil
		}
	}
	return nil
}
