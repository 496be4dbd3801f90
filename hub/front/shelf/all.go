// Package shelf keeps the objects of kinds as the door said them last, and the changes that led there, for who lists and watches them. An
// object is read again when its mark changed. What all shelves hold together is bounded: the kind whose objects take most is kept no more
// then, and is listed from the door, a page at a time.
package shelf

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/bus/loop"
	"flotilla/core/api"
)

// keptFor is for how long a shelf is kept that nobody looks at, and for how long one is not tried again that was too large.
const keptFor = 10 * time.Minute

// Bounds are how much there is of objects, in bytes.
type Bounds struct {
	Kept int64 // in memory, of all kinds together
	Page int64 // of objects in a page of a list: of their texts or, where they are decoded for it, in memory
	List int64 // the same of a list without pages
}

// Usual are the bounds of a hub.
var Usual = Bounds{Kept: 128 << 20, Page: 8 << 20, List: 32 << 20}

// Door is who knows the objects.
type Door interface {
	// Ask has a verb answered on behalf of by; a refusal is an *api.Failure.
	Ask(ctx context.Context, by api.Caller, verb string, question, answer any) error
}

// Kind is what a shelf holds objects of. Shelves of equal ones are one.
type Kind struct {
	schema.GroupVersionKind
	Resource string
	// Ours says that Flotilla gives the kind a meaning: its objects lie in the hub in any version.
	Ours bool
	// Values says that values of Secrets are shown.
	Values bool
	// Stays says that the shelf stays however long nobody looks at it, and gives way to others last.
	Stays bool
	// Served is as what the kind is served: one that is defined anew has another.
	Served any
}

// All are the shelves of all kinds.
type All struct {
	door Door
	now  func() time.Time
	most Bounds
	life context.Context //nolint:containedctx // ends with all shelves
	end  context.CancelFunc
	work loop.Works

	mu      sync.Mutex
	shelves map[Kind]*Shelf
	held    map[*Shelf]held
}

// held is how much memory a shelf takes.
type held struct {
	items, ring int64
	was         int64 // the most items that it was emptied with, until it is read as a whole
}

// New returns no shelves before a door. Close ends them.
func New(door Door, now func() time.Time, most Bounds) *All {
	a := &All{door: door, now: now, most: most, shelves: map[Kind]*Shelf{}, held: map[*Shelf]held{}}
	a.life, a.end = context.WithCancel(context.Background())
	a.work.Go(func() {
		for a.life.Err() == nil {
			loop.Pause(a.life, keptFor/10)
			a.tidy()
		}
	})
	return a
}

// Close ends all shelves, and waits for what is read and followed.
func (a *All) Close() {
	a.end()
	a.work.End()
}

// Of is the shelf of a kind, kept from the first time that it is asked for.
func (a *All) Of(k Kind) *Shelf {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.shelves[k]
	if s == nil {
		s = newShelf(a, k)
		a.shelves[k] = s
	}
	s.looked(a.now(), 0)
	return s
}

// tidy ends shelves that nobody looks at any more. Where there is room again objects are kept as they are used.
func (a *All) tidy() {
	since := a.now().Add(-keptFor)
	a.Drop(func(s *Shelf) bool { return !s.kind.Stays && s.idle(since) })
	for _, s := range a.lean() {
		a.fatten(s)
	}
}

// Drop ends the shelves of which which is true.
func (a *All) Drop(which func(*Shelf) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k, s := range a.shelves {
		if which(s) {
			s.end()
			delete(a.shelves, k)
			delete(a.held, s)
		}
	}
}

// lean are the shelves that keep texts.
func (a *All) lean() (all []*Shelf) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := range a.held {
		if s.isLean() {
			all = append(all, s)
		}
	}
	return all
}

// fatten has a shelf keep objects again where half of the room is free then.
func (a *All) fatten(s *Shelf) {
	whole := s.whole()
	a.mu.Lock()
	was, keeps := a.held[s]
	room := keeps && a.items()-was.items+whole <= a.most.Kept*itemsPart/rings/2
	if room {
		a.held[s] = held{items: whole, ring: was.ring}
	}
	a.mu.Unlock()
	if room {
		s.keepAs(false)
	}
}

func (a *All) items() (sum int64) {
	for _, h := range a.held {
		sum += h.items
	}
	return sum
}
