package shelf

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/watch"
)

// taking is how the objects of a listing become those of a shelf.
type taking struct {
	*Shelf
	first   bool
	left    map[string]*Item
	changes []Change
	newest  uint64
	// behind is the number of the next change that no record says, unless an object has it: members may have said something else.
	behind uint64
	own    map[uint64]bool // the numbers that objects have by their records
	told   map[uint64]bool // the numbers of changes: what is shown of one record may be several objects
}

// free is a number that nothing else has.
func (t *taking) free() uint64 {
	for t.own[t.behind] {
		t.behind++
	}
	t.behind++
	t.newest = max(t.newest, t.behind-1)
	return t.behind - 1
}

// take takes in all objects as they are now.
func (s *Shelf) take(l *listing, mark string) error {
	number, err := Numbered(l.version)
	if err != nil {
		return err
	}
	if !s.put(l, number, mark) {
		return ErrWide
	}
	known := make(map[string]string, len(l.found))
	for i := range l.found {
		if one := &l.found[i]; !one.lost {
			known[one.key] = one.mark
		}
	}
	s.reads.known = known
	return nil
}

// put makes a listing what the shelf holds; false where the shelf was emptied meanwhile.
func (s *Shelf) put(l *listing, number uint64, mark string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content.round != l.round {
		return false
	}
	t := &taking{
		Shelf: s, first: s.mark == "", left: make(map[string]*Item, len(l.found)),
		// What changed comes behind the list before, also where no record says so.
		behind: max(number, s.number+1), newest: max(number, s.number), own: map[uint64]bool{}, told: map[uint64]bool{},
	}
	for i := range l.found {
		if one := l.found[i].item; one != nil {
			t.own[one.Number] = true
		}
	}
	if t.first && s.number > 0 { // no page that was listed meanwhile has its number
		t.behind = t.newest + 1
		t.free()
	}
	for i := range l.found {
		t.one(&l.found[i])
	}
	for key, was := range s.content.items {
		if t.left[key] == nil {
			t.changes = append(t.changes, gone(was, t.free())) // so that who is cut off between two is told of the second
		}
	}
	slices.SortStableFunc(t.changes, func(a, b Change) int { return cmp.Compare(a.Number, b.Number) })
	s.content.set(t.left)
	s.content.round++
	s.number, s.mark, s.given = t.newest, mark, nil
	if t.first {
		s.ring.oldest = max(s.ring.oldest, t.newest)
		return true
	}
	s.ring.keep(t.changes)
	return true
}

// one takes in an object.
func (t *taking) one(l *listed) {
	was, now := t.content.items[l.key], l.item
	if !l.read && !l.lost {
		now = was
	}
	switch {
	case now == nil: // it has gone, or lies in a version that is not served
		return
	case was != nil && was.digest == now.digest:
		t.left[l.key] = t.kept(was)
		return
	}
	anew := was != nil && was.UID != now.UID
	ended := t.assign(now, anew)
	t.left[l.key] = t.kept(now)
	one := Change{Kind: watch.Added, Number: now.Number, Now: now}
	switch {
	case anew:
		t.changes = append(t.changes, gone(was, ended))
	case was != nil:
		one.Kind, one.Before = watch.Modified, was
	}
	t.changes = append(t.changes, one)
}

// assign gives an object that is another than before a number that no other change has, and returns one for the end of what it was before where it
// was made anew.
func (t *taking) assign(now *Item, anew bool) (ended uint64) {
	least := t.number + 1
	if anew {
		least++ // the end of the one before has a number too
	}
	ended = now.Number - 1
	switch other, is := t.given[now.Key]; {
	case !t.first && (now.Number < least || t.told[now.Number]):
		if anew {
			ended = t.free()
		}
		now.renumber(t.free())
	case is && other.number == now.Number && other.digest != now.digest: // it changed since, by what members said
		now.renumber(t.free())
	}
	t.own[ended], t.told[now.Number] = true, true
	t.newest = max(t.newest, now.Number)
	return ended
}

// kept is an item as the shelf keeps it.
func (t *taking) kept(one *Item) *Item {
	if t.lean {
		return one.lean()
	}
	return one
}

// gone is that an object was deleted, by the time of a list.
func gone(was *Item, number uint64) Change {
	return Change{Kind: watch.Deleted, Number: number, Now: was.at(number), Before: was}
}

// split is the namespace and the name of a key.
func split(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}
