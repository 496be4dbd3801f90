package page

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// besideWithin is how long a screen waits for what is asked beside it, besideFirst where nothing came yet and a page is loaded.
	besideWithin, besideFirst = 10 * time.Millisecond, time.Second
	// besideEvery is how often it is asked at most, and besideShare the share of the time that asking may take.
	besideEvery = 10 * time.Second
	besideShare = 20
)

// beside keeps what takes too long to ask each time a screen is drawn. It is asked once for everybody, one thing at a time,
// and shown with its age meanwhile.
type beside[T any] struct {
	survey *survey
	ask    func(key string) (T, error)
	over   func() bool // the page has ended

	one  sync.Mutex // held by who asks
	mu   sync.Mutex
	kept map[string]*aside[T]
	all  sync.WaitGroup
}

// aside is an answer, the zero one before the first.
type aside[T any] struct {
	Value T
	// At is when it was asked, Why the reason that there is no newer one.
	At  metav1.Time
	Why string

	next time.Time     // when it may be asked again
	done chan struct{} // closed when it was asked, nil while nobody does
}

func newBeside[T any](ctx context.Context, s *survey, ask func(context.Context, string) (T, error)) *beside[T] {
	return &beside[T]{
		survey: s, kept: map[string]*aside[T]{},
		over: func() bool { return ctx.Err() != nil },
		ask: func(key string) (T, error) {
			ctx, cancel := context.WithTimeout(ctx, askWithin)
			defer cancel()
			return ask(ctx, key)
		},
	}
}

// of is the newest answer about something. It waits for a better one for the blink of an eye only, a while for the first where a
// page is loaded; one that comes later is a new turn.
func (b *beside[T]) of(ctx context.Context, key string) aside[T] {
	now := b.survey.now()
	b.mu.Lock()
	a := b.kept[key]
	if a == nil {
		if len(b.kept) >= mostKept {
			clear(b.kept)
		}
		a = &aside[T]{}
		b.kept[key] = a
	}
	if a.done == nil && !now.Before(a.next) && !b.over() {
		a.done = make(chan struct{})
		b.all.Go(func() { b.renew(key, a) })
	}
	done, within := a.done, map[bool]time.Duration{true: besideFirst, false: besideWithin}[a.At.IsZero() && a.Why == "" && ctx.Value(collected{}) == nil]
	b.mu.Unlock()
	if done != nil {
		soon, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		select {
		case <-done:
		case <-soon.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return *a
}

// renew asks anew.
func (b *beside[T]) renew(key string, a *aside[T]) {
	b.one.Lock()
	began := b.survey.now()
	value, err := b.ask(key)
	took := b.survey.now().Sub(began)
	b.one.Unlock()

	b.mu.Lock()
	if a.Why = ""; err != nil {
		a.Why = err.Error()
	} else {
		a.Value, a.At = value, metav1.NewTime(began)
	}
	a.next = began.Add(took + max(besideEvery, besideShare*took))
	close(a.done)
	a.done = nil
	b.mu.Unlock()
	if took >= besideWithin {
		b.survey.again()
	}
}
