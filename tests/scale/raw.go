package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// rawRounds is how many rounds of an exchange are measured at most: one is like the other.
const rawRounds = 100

// Raw is what NATS alone took for the messages of a step, on the same machine right after it.
type Raw struct {
	Exchange   Exchange  `json:"exchange"` // of the last round, members left out
	Rounds     int       `json:"rounds"`
	Deliveries int       `json:"deliveries"`
	Wall       float64   `json:"wallSeconds"`
	Latency    Quantiles `json:"latency"` // of rounds
	Hub        Figures   `json:"hub"`
	Agents     Figures   `json:"agents"`
}

// exchangeOf is what one placement of a step cost in messages: what the hub stored for it, and for each of its members the content
// that was read, a command and a result.
func exchangeOf(m *Measured) Exchange {
	per := func(c Count, of int) int { return int(math.Round(c.Messages / float64(max(1, of)))) }
	size := func(c Count) int { return max(1, int(c.each())) }
	hub := sum(m.Traffic.Sent, subjects.Commands, subjects.Result, subjects.Events, subjects.Content, subjects.Heartbeat, subjects.Lease)
	read := m.Traffic.Read[subjects.Content]
	return Exchange{
		State: per(hub, m.Latency.Count), StateSize: size(hub),
		Content: per(read, m.Deliveries), ContentSize: size(read),
		CommandSize: size(m.Traffic.Sent[subjects.Commands]), ResultSize: size(m.Traffic.Sent[subjects.Result]),
	}
}

// rawOf does with NATS alone what a step did, and measures it. Steps that delivered nothing have none.
func rawOf(ctx context.Context, folder string, s *Scenario, step *Step, m *Measured) (_ *Raw, err error) {
	if m.Deliveries == 0 || step.Restart != nil {
		return nil, nil
	}
	x := exchangeOf(m)
	var at rawHello
	name := "raw-" + s.Name + "-" + step.Name
	hub, err := launch(folder, name, role{RawHub: &rawHubRole{Dir: filepath.Join(folder, name)}}, &at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hub.end()) }()
	agents, err := launch(folder, name+"-agents", role{RawAgents: &rawAgentsRole{URL: at.URL, ReadyAfter: s.ReadyAfter}}, &struct{}{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agents.end()) }()
	var names []string
	for i := range m.Members {
		names = append(names, memberName(i))
	}
	var connected int
	if err := agents.ask(ctx, "/start", rawMembers{Members: names, Content: x.Content, ResultSize: x.ResultSize}, &connected); err != nil {
		return nil, err
	}
	r := &Raw{Exchange: x, Rounds: min(m.Latency.Count, rawRounds)}
	return r, r.run(ctx, hub, agents, partsOf(names, m.Deliveries/m.Latency.Count), step.atOnce())
}

// partsOf spreads members over parts of about so many.
func partsOf(names []string, each int) [][]string {
	parts := make([][]string, max(1, len(names)/max(1, each)))
	for i, name := range names {
		parts[i%len(parts)] = append(parts[i%len(parts)], name)
	}
	return parts
}

// run does the rounds, each of one part of the members, so many at once as there were placements.
func (r *Raw) run(ctx context.Context, hub, agents *child, parts [][]string, atOnce int) error {
	before, err := bothFigures(ctx, hub, agents)
	if err != nil {
		return err
	}
	began := elsewhen.Now()
	took, err := r.rounds(ctx, hub, parts, atOnce)
	if err != nil {
		return errors.Join(err, agents.ask(ctx, "/fault", struct{}{}, &struct{}{}))
	}
	r.Wall, r.Latency = elsewhen.Since(began).Seconds(), quantilesOf(took)
	after, err := bothFigures(ctx, hub, agents)
	r.Hub, r.Agents = after[0].since(before[0]), after[1].since(before[1])
	return err
}

// rounds has parts do the rounds in turn. An agent is asked for one thing at a time, so no part does two rounds at once.
func (r *Raw) rounds(ctx context.Context, hub *child, parts [][]string, atOnce int) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var fault error
	busy := make([]sync.Mutex, len(parts))
	waiting := make(chan int, r.Rounds)
	for i := range r.Rounds {
		waiting <- i
	}
	close(waiting)
	var doing sync.WaitGroup
	for range min(atOnce, len(parts)) {
		doing.Go(func() {
			for i := range waiting {
				part := i % len(parts)
				busy[part].Lock()
				x := r.Exchange
				x.Round, x.Members = fmt.Sprint(i), parts[part]
				var seconds float64
				err := hub.ask(ctx, "/exchange", x, &seconds)
				busy[part].Unlock()
				mu.Lock()
				all, fault = append(all, time.Duration(seconds*float64(time.Second))), errors.Join(fault, err)
				r.Deliveries += len(parts[part])
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	doing.Wait()
	return all, fault
}

func bothFigures(ctx context.Context, hub, agents *child) (both [2]Figures, err error) {
	if both[0], err = hub.figures(ctx); err != nil {
		return both, err
	}
	both[1], err = agents.figures(ctx)
	return both, err
}
