package shelf

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/watch"
)

// ringLength is how many changes of a kind are kept for who resumes, and ringBytes how much memory they take together.
const ringLength, ringBytes = 4096, 16 << 20

// Change is one event, of items that are whole.
type Change struct {
	Kind   watch.EventType
	Number uint64
	Now    *Item // as it is or, deleted, was last
	Before *Item // nil where there was none
}

// Weight is how much memory is taken at most by what is told of a change.
func (c *Change) Weight() int64 {
	if c.Before == nil {
		return c.Now.Weight()
	}
	return max(c.Now.Weight(), c.Before.Weight())
}

// takes is how much memory a change takes.
func (c *Change) takes() int64 {
	if c.Before == nil {
		return c.Now.weight
	}
	return c.Now.weight + c.Before.weight
}

// ring are the newest changes. Who was given some of them reads them while others come.
type ring struct {
	changes []Change
	oldest  uint64        // changes up to it are not kept
	changed chan struct{} // closed at the next change
}

// keep adds changes, and wakes who waits for them.
func (r *ring) keep(changes []Change) {
	if len(changes) == 0 {
		return
	}
	r.changes = append(r.changes, changes...)
	r.drop(beyond(r.changes))
	for i := max(len(r.changes)-len(changes), 0); i < len(r.changes); i++ { // many look at each
		if c := &r.changes[i]; c.Before == nil {
			c.Now = c.Now.Whole()
		} else {
			c.Now, c.Before = c.Now.Whole(), c.Before.Whole()
		}
	}
	r.wake()
}

// drop keeps the oldest changes no more.
func (r *ring) drop(over int) {
	if over > 0 {
		r.oldest = r.changes[over-1].Number
		r.changes = slices.Clone(r.changes[over:])
	}
}

func (r *ring) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// beyond is how many of the oldest changes are not kept.
func beyond(changes []Change) (over int) {
	var weight int64
	for over = len(changes); over > 0 && len(changes)-over < ringLength; over-- {
		if weight += changes[over-1].takes(); weight > ringBytes {
			return over
		}
	}
	return over
}

// empty keeps no changes up to a number, and wakes who waits for one.
func (r *ring) empty(number uint64) {
	r.changes, r.oldest = nil, number
	r.wake()
}

// takes is how much memory the changes take.
func (r *ring) takes() (sum int64) {
	for i := range r.changes {
		sum += r.changes[i].takes()
	}
	return sum
}

// at is where the change of a number is, or would be.
func (r *ring) at(number uint64) (int, bool) {
	return slices.BinarySearchFunc(r.changes, number, func(c Change, number uint64) int { return cmp.Compare(c.Number, number) })
}

func (r *ring) has(number uint64) bool {
	_, found := r.at(number)
	return found
}

// since are the changes after a number; false where they are not kept any more.
func (r *ring) since(after uint64) (changes []Change, kept bool) {
	if after < r.oldest {
		return nil, false
	}
	at, _ := r.at(after + 1)
	return r.changes[at:], true
}
