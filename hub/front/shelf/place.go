package shelf

import "k8s.io/apimachinery/pkg/watch"

// Place is how far somebody who watches a shelf was told of it: of the objects as they were at a number up to a key, or of all of them, and then of
// what changed up to a number. Whoever is slow keeps their place, and nothing of what was there.
type Place struct {
	Number uint64
	key    string
	// All says that the objects that were there at first were told.
	All bool
}

// Next is what somebody at a place is told next, of what may tell them anything: an object that was there at first, added, or a change. The place is
// moved up to there, and behind it by Passed. Where there is nothing, next is closed at the next change, and nil where the objects that were there
// at first end. False where what changed since is not kept any more. What is told first may have a text alone; changes have objects.
func (s *Shelf) Next(at *Place, may func(*Item) bool) (told Change, is bool, next <-chan struct{}, kept bool) {
	changes, sorted, number, next, kept := s.from(at)
	if !kept {
		return Change{}, false, nil, false
	}
	if !at.All {
		begin := beginning{at: at, sorted: sorted, changes: changes}
		for one := begin.next(); one != nil; one = begin.next() {
			if may(one) {
				return Change{Kind: watch.Added, Number: at.Number, Now: one}, true, nil, true
			}
			at.key = one.Key
		}
		at.All = true
		return Change{}, false, nil, true
	}
	for i := range changes {
		if c := &changes[i]; may(c.Now) || c.Before != nil && may(c.Before) {
			return *c, true, nil, true
		}
		at.Number = changes[i].Number
	}
	at.Number = max(at.Number, number)
	return Change{}, false, next, true
}

// from are the changes since a place, and the objects behind it as they are now.
func (s *Shelf) from(at *Place) (changes []Change, sorted []*Item, number uint64, next <-chan struct{}, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.key == "" && !at.All { // they were told nothing yet
		at.Number = max(at.Number, s.number)
	}
	if changes, kept = s.ring.since(at.Number); !kept || s.mark == "" {
		return nil, nil, 0, nil, false
	}
	if !at.All {
		sorted = Behind(s.content.sorted, at.key)
	}
	return changes, sorted, s.number, s.ring.changed, true
}

// Passed moves a place behind what was told there.
func (p *Place) Passed(told *Change) {
	if p.All {
		p.Number = told.Number
		return
	}
	p.key = told.Now.Key
}

// beginning are the objects that were there at the number of a place, behind it: those of now that did not change since, and others as they were
// before their first change.
type beginning struct {
	at      *Place
	sorted  []*Item
	changes []Change
	changed *Item // the next of those that changed
	known   bool  // which that is
}

// next is the first of them, nil for none. The place has to be moved behind it before there is another.
func (b *beginning) next() (one *Item) {
	for len(b.sorted) > 0 && b.sorted[0].Number > b.at.Number {
		b.sorted = b.sorted[1:]
	}
	if !b.known {
		b.changed, b.known = before(b.changes, b.at), true
	}
	switch {
	case b.changed != nil && (len(b.sorted) == 0 || b.changed.Key < b.sorted[0].Key):
		one, b.known = b.changed, false
	case len(b.sorted) > 0:
		one, b.sorted = b.sorted[0], b.sorted[1:]
	}
	return one
}

// before is the first object behind a place that was there before the changes, as it was; nil for none. Of those that were made or changed again
// since, what is in the place of before is newer than the place.
func before(changes []Change, at *Place) (first *Item) {
	for i := range changes {
		if was := changes[i].Before; was != nil && was.Number <= at.Number && was.Key > at.key && (first == nil || was.Key < first.Key) {
			first = was
		}
	}
	return first
}
