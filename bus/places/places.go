// Package places bounds what one person asks of the hub at once, so that others find it free, and ends a service with the requests
// that run: package bus takes a place in it for each request.
package places

import (
	"context"
	"fmt"
	"sync"

	"flotilla/bus/loop"
	"flotilla/core/api"
)

const (
	// runningOfPerson is how many requests of one person run at once, so that others find the hub free.
	runningOfPerson = 4
	// presentOfPerson is how many requests of one person over NATS run or wait; more are refused.
	presentOfPerson = 64
)

// Places are those of requests that run at once, few of them for each person. Its methods may be called from any goroutine.
type Places struct {
	all   chan struct{} // one for each request that runs
	lanes loop.Lanes    // in which those of each person run
	most  int           // of requests over NATS that run or wait

	mu      sync.Mutex
	present int
	lines   map[string]*Line // by person, as long as one has a request over NATS
}

// Line is the requests of one person over NATS.
type Line struct {
	of      *Places
	person  string
	present int
}

// New returns places for so many requests that run at once, and for so many over NATS that run or wait.
func New(running, most int) *Places {
	return &Places{all: make(chan struct{}, running), lanes: loop.Lanes{Wide: runningOfPerson}, most: most, lines: map[string]*Line{}}
}

// Join lines a request over NATS up, or says why it is refused.
func (p *Places) Join(person string) (*Line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[person]
	switch {
	case l != nil && l.present >= presentOfPerson:
		return nil, &api.Failure{
			Code: api.CodeUnavailable, Next: "flotilla status",
			Message: fmt.Sprintf("%s has %d requests with the hub already: ask again when one was answered", person, l.present),
		}
	case p.present >= p.most:
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "the hub has too much to do: ask again"}
	case l == nil:
		l = &Line{of: p, person: person}
		p.lines[person] = l
	}
	l.present++
	p.present++
	return l, nil
}

// Leave takes a request out of the line that it joined.
func (l *Line) Leave() {
	p := l.of
	p.mu.Lock()
	defer p.mu.Unlock()
	p.present--
	if l.present--; l.present == 0 {
		delete(p.lines, l.person)
	}
}

// Enter waits until a request of a person may run; it has run when leave is called. Those of nobody are the hub's own, for all
// people.
func (p *Places) Enter(ctx context.Context, person string) (leave func(), err error) {
	ran := func() {}
	if person != "" {
		if ran, err = p.lanes.Take(ctx, person); err != nil {
			return nil, err
		}
	}
	select {
	case p.all <- struct{}{}:
		return sync.OnceFunc(func() { <-p.all; ran() }), nil
	case <-ctx.Done():
		ran()
		return nil, ctx.Err()
	}
}
