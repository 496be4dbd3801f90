package front

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"flotilla/hub/front/bounds"
	"flotilla/hub/front/shelf"
)

// definedWithin is how long a request waits until definitions that changed are read. Then it is answered by what was served before.
const definedWithin = 3 * time.Second

// serving has one at a time make what is served of definitions.
type serving struct {
	mu     sync.Mutex
	making chan struct{} // closed when the one who makes it is done; nil: nobody does
	number uint64        // of the definitions that it is made of
}

// current is what is served now, with the kinds that are defined.
func (f *Front) current(ctx context.Context) *served {
	if f.now.Load().number > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, definedWithin)
		defer cancel()
	}
	found, number, err := f.shelf(f.definitions, true).Kept(ctx, "")
	if err != nil {
		return f.now.Load() // as it was when the door answered last
	}
	for f.now.Load().number < number {
		made, of := f.remake(found, number)
		select {
		case <-ctx.Done():
			return f.now.Load()
		case <-made:
		}
		if of >= number { // else somebody made it of definitions before these
			break
		}
	}
	return f.now.Load()
}

// remake begins to make what is served of definitions, unless somebody makes it now, of the definitions of a number.
func (f *Front) remake(found []*shelf.Item, number uint64) (made <-chan struct{}, of uint64) {
	s := &f.serving
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.making != nil {
		return s.making, s.number
	}
	done := make(chan struct{})
	begins := f.all.Go(func() {
		defer close(done)
		f.renew(found, number)
		s.mu.Lock()
		s.making = nil
		s.mu.Unlock()
	})
	if !begins {
		close(done)
		return done, number
	}
	s.making, s.number = done, number
	return done, number
}

// renew has definitions be what is served.
func (f *Front) renew(found []*shelf.Item, number uint64) {
	now := f.now.Load()
	if now.number >= number {
		return
	}
	next, err := f.define(now, found, number, mostParts)
	if err != nil {
		f.Log.Warn().Err(err).Msg("kinds that are defined cannot be served")
		return
	}
	f.now.Store(next)
	f.drop(next)
}

// outcome is what became of a definition.
type outcome struct {
	of    string // the definition, by uid and generation
	parts int
	kind  *kind // nil where it is not served
	err   error // why it is not
	full  bool  // because there was no room
}

// define serves what is built in and the kinds of definitions, the oldest first while there is room; what did not change is not read anew.
func (f *Front) define(before *served, found []*shelf.Item, number uint64, room bounds.Definitions) (next *served, err error) {
	defer recovered(&err)
	all, ways, outcomes := slices.Clone(f.builtIn), maps.Clone(before.ways), map[string]outcome{}
	oldest := slices.SortedStableFunc(slices.Values(found), func(a, b *shelf.Item) int { return a.Created.Compare(b.Created.Time) })
	for _, one := range oldest {
		was := before.outcomes[one.Name]
		now := f.outcome(one, was, ways, &room)
		if outcomes[one.Name] = now; now.err == nil {
			all = append(all, now.kind)
		} else if now.of != was.of || now.full != was.full {
			f.Log.Warn().Err(now.err).Str("definition", one.Name).Msg("a kind that is defined cannot be served")
		}
	}
	if next, err = f.made(all, ways, before, number); err == nil {
		next.outcomes = outcomes
	}
	return next, err
}

// outcome is what becomes of a definition. One that did not change, and finds room as before, is not decoded.
func (f *Front) outcome(one *shelf.Item, was outcome, ways map[*kind]*way, room *bounds.Definitions) outcome {
	now := was
	if of := definitionOf(one); of != was.of {
		one = one.Whole()
		now = outcome{of: of, parts: bounds.Parts(one.Object.Object)}
	}
	if err := room.Take(now.parts); err != nil {
		now.kind, now.err, now.full = nil, err, true
	} else if now.full || now.kind == nil && now.err == nil {
		now.full = false
		if now.kind, now.err = f.read(one.Whole().Object); now.err == nil {
			ways[now.kind], now.err = f.tried(now.kind)
		}
	}
	return now
}
