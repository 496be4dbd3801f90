package shelf

import (
	"context"
	"sync"
	"time"

	"flotilla/bus/loop"
)

const (
	// pollEvery is for how long one wait for a change lasts.
	pollEvery = 20 * time.Second
	// retryEvery is how long after the door answered nothing it is asked again.
	retryEvery = time.Second
)

// Shelf holds the objects of one kind as they were when the door was asked last, and the changes that led there.
type Shelf struct {
	all  *All
	kind Kind
	life context.Context //nolint:containedctx // ends when the kind is served no more
	end  context.CancelFunc

	mu      sync.Mutex
	reads   reads
	mark    string // where the door's next wait begins; empty where nothing was read
	content content
	given   map[string]given // by One, since the newest list
	number  uint64           // of the newest list
	ring    ring
	looks   looks
	lean    bool      // it keeps the texts of objects
	wide    time.Time // when it was too large; zero: it is not
}

// looks are who looks at a shelf.
type looks struct {
	watching  int       // so many watch
	following bool      // the door is asked for changes
	last      time.Time // when somebody looked last, or ended a watch
}

func newShelf(all *All, k Kind) *Shelf {
	s := &Shelf{all: all, kind: k, content: content{items: map[string]*Item{}}, ring: ring{changed: make(chan struct{})}}
	s.life, s.end = context.WithCancel(all.life)
	return s
}

// Kind is what the shelf holds objects of.
func (s *Shelf) Kind() *Kind { return &s.kind }

// AfterEnd calls f when the kind is served no more, unless stop was called before.
func (s *Shelf) AfterEnd(f func()) (stop func() bool) { return context.AfterFunc(s.life, f) }

// Attend has the shelf follow what changes until leave is called.
func (s *Shelf) Attend() (leave func()) {
	if s.begin() {
		s.all.work.Go(s.follow)
	}
	return func() { s.looked(s.all.now(), 1) }
}

// begin counts one who watches, and says whether the shelf is to be followed from now on.
func (s *Shelf) begin() (follow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	follow = !s.looks.following
	s.looks.watching++
	s.looks.following = true
	return follow
}

// looked says that somebody looks now, and of how many who watched that they have ended.
func (s *Shelf) looked(now time.Time, ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks.watching -= ended
	s.looks.last = now
}

// idle says that nobody watches, and that nobody has looked since a time.
func (s *Shelf) idle(since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks.watching == 0 && s.looks.last.Before(since)
}

// follow keeps the shelf fresh while somebody watches it.
func (s *Shelf) follow() {
	for ctx := s.life; ; {
		mark, on := s.followed()
		if !on {
			return
		}
		answer, err := s.await(ctx, mark, pollEvery)
		if err != nil {
			loop.Pause(ctx, retryEvery)
		}
		if err != nil || answer.Changed { // who is refused a wait looks now and then
			err = s.fresh(ctx)
		}
		if err != nil {
			loop.Pause(ctx, retryEvery)
		}
	}
}

// followed says whether somebody watches still, and where the next wait begins.
func (s *Shelf) followed() (mark string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks.following = s.looks.watching > 0 && s.life.Err() == nil
	return s.mark, s.looks.following
}

// lastLook is when somebody looked last.
func (s *Shelf) lastLook() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks.last
}

// begins says that the shelf was not read yet, or is read anew.
func (s *Shelf) begins() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mark == ""
}

// keepAs has the shelf keep the texts of its objects alone, or objects again.
func (s *Shelf) keepAs(lean bool) {
	s.mu.Lock()
	s.lean = lean
	before := s.content
	s.mu.Unlock()
	items := make(map[string]*Item, len(before.items))
	for key, one := range before.items {
		if lean {
			items[key] = one.lean()
		} else {
			items[key] = one.Whole()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content.round == before.round { // else it was read meanwhile
		s.content.set(items)
	}
}

// whole is how much memory the objects take as objects.
func (s *Shelf) whole() (sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.content.items {
		sum += one.labelBytes() + one.weight
	}
	return sum
}

// cut drops the older half of the changes, and returns how much memory the others take.
func (s *Shelf) cut() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring.drop((len(s.ring.changes) + 1) / 2)
	return s.ring.takes()
}

// isLean says that the shelf keeps the texts of its objects alone.
func (s *Shelf) isLean() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lean
}

// empty has the shelf hold nothing, for some time where it is too large.
func (s *Shelf) empty(now time.Time, wide bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wide = (time.Time{}); wide {
		s.wide = now
	}
	s.mark, s.lean = "", false
	s.content.set(nil)
	s.content.round++
	s.number++
	s.ring.empty(s.number) // who watches lists anew
}

// isWide says that the shelf holds nothing, because it was too large less than keptFor ago.
func (s *Shelf) isWide() bool {
	now := s.all.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wide.IsZero() && now.Sub(s.wide) >= keptFor {
		s.wide = time.Time{}
	}
	return !s.wide.IsZero()
}

// List are the objects in a namespace, of all where that is empty, sorted by key, and the number of the list, as they were when somebody called
// fresh last; false where they are not kept any more. Others have the same slice.
func (s *Shelf) List(namespace string) (found []*Item, number uint64, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mark == "" {
		return nil, 0, false
	}
	return s.content.of(namespace), s.number, true
}

// Gave says that the shelf gave a number that no record has: another hub numbers what members say by itself.
func (s *Shelf) Gave(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number&(1<<echoBits-1) == 0 || number == s.number {
		return true
	}
	return s.ring.has(number)
}
