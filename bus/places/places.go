// Package places bounds what one person asks of the hub at once, so that others find it free, and ends a service with the requests
// that run: package bus takes a place in it for each request.
package places

import (
	"context"
	"fmt"
	"sync"

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
	all  chan struct{} // one for each request that runs
	most int           // of requests over NATS that run or wait

	mu      sync.Mutex
	present int
	lines   map[string]*Line // by person, as long as one has a request
}

// Line is the requests of one person.
type Line struct {
	person  string
	users   int           // requests that hold the line
	present int           // those over NATS
	running chan struct{} // one for each that runs
}

// New returns places for so many requests that run at once, and for so many over NATS that run or wait.
func New(running, most int) *Places {
	return &Places{all: make(chan struct{}, running), most: most, lines: map[string]*Line{}}
}

// Join lines a request over NATS up, or says why it is refused.
func (p *Places) Join(person string) (*Line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(person)
	switch {
	case l.present >= presentOfPerson:
		return nil, &api.Failure{
			Code: api.CodeUnavailable, Next: "flotilla status",
			Message: fmt.Sprintf("%s has %d requests with the hub already: ask again when one was answered", person, l.present),
		}
	case p.present >= p.most:
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "the hub has too much to do: ask again"}
	}
	l.users++
	l.present++
	p.present++
	return l, nil
}

// Leave takes a request out of the line that it joined.
func (p *Places) Leave(l *Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.present--
	p.present--
	p.drop(l)
}

// line is that of a person. The caller holds the lock.
func (p *Places) line(person string) *Line {
	l := p.lines[person]
	if l == nil {
		running := runningOfPerson
		if person == "" { // the hub itself, for all people
			running = cap(p.all)
		}
		l = &Line{person: person, running: make(chan struct{}, running)}
		p.lines[person] = l
	}
	return l
}

// drop forgets a line that nobody holds any more. The caller holds the lock.
func (p *Places) drop(l *Line) {
	if l.users--; l.users == 0 {
		delete(p.lines, l.person)
	}
}

// Enter waits until a request of a person may run; it has run when leave is called.
func (p *Places) Enter(ctx context.Context, person string) (leave func(), err error) {
	l := p.hold(person)
	if err := take(ctx, l.running); err != nil {
		p.release(l)
		return nil, err
	}
	if err := take(ctx, p.all); err != nil {
		<-l.running
		p.release(l)
		return nil, err
	}
	return sync.OnceFunc(func() {
		<-p.all
		<-l.running
		p.release(l)
	}), nil
}

func (p *Places) hold(person string) *Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(person)
	l.users++
	return l
}

func (p *Places) release(l *Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(l)
}

// take puts one more into a channel that counts, unless ctx ends before there is room.
func take(ctx context.Context, count chan<- struct{}) error {
	select {
	case count <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
