package shelf

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Of what is kept so many parts of rings are objects, the rest is of changes.
	itemsPart, rings = 3, 4
	// unusedFor is how long after somebody looked at a shelf it gives way before those that are used.
	unusedFor = time.Minute
)

// hold has a shelf take so much memory from now on. Where all take too much together some give way: the heaviest keep texts in the place of
// objects, what nobody uses is forgotten, and then the kind that takes most is wide. False where the shelf itself keeps nothing any more.
func (a *All) hold(s *Shelf, now held) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	if s.begins() {
		now.was = a.held[s].was
	}
	a.held[s] = now
	a.cut()
	for a.items() > a.most.Kept*itemsPart/rings {
		if fat := a.fattest(); fat != nil {
			a.mu.Unlock() // others look at shelves meanwhile
			fat.keepAs(true)
			weight := fat.weight()
			a.mu.Lock()
			if was, keeps := a.held[fat]; keeps {
				weight.was = was.was
				a.held[fat] = weight
			}
			continue
		}
		victim := a.unused(s)
		wide := victim == nil
		if wide {
			victim = a.heaviest(s)
		}
		gone := a.held[victim] // what was read anew for a part may have been more before
		a.held[victim] = held{was: max(gone.items, gone.was)}
		if victim.empty(a.now(), wide); victim == s {
			return false
		}
	}
	return s.life.Err() == nil
}

// cut drops the older half of the largest rings, until all are within their part.
func (a *All) cut() {
	for {
		var sum int64
		var largest *Shelf
		for one, h := range a.held {
			if sum += h.ring; h.ring > a.held[largest].ring {
				largest = one
			}
		}
		if sum <= a.most.Kept/rings {
			return
		}
		h := a.held[largest]
		h.ring = largest.cut()
		a.held[largest] = h
	}
}

// fattest is the heaviest shelf that keeps objects and not their texts, nil where none does.
func (a *All) fattest() (fattest *Shelf) {
	for one, h := range a.held {
		if h.items > a.held[fattest].items && !one.isLean() {
			fattest = one
		}
	}
	return fattest
}

// unused is the shelf beside one that nobody watches, and that nobody has looked at for longest, nil where all are used.
func (a *All) unused(beside *Shelf) (unused *Shelf) {
	last := a.now().Add(-unusedFor)
	for one, h := range a.held {
		if one != beside && h.items > 0 && !one.kind.Stays && one.idle(last) {
			unused, last = one, one.lastLook()
		}
	}
	return unused
}

// heaviest is the shelf that is too large: of the kind that takes most, with or without values of Secrets, that which viewers see. One that is
// read anew is that itself once it takes half as much, or took it before: two kinds do not drive each other out in turns.
func (a *All) heaviest(s *Shelf) *Shelf {
	kinds := map[schema.GroupVersionKind]int64{}
	for one, h := range a.held {
		kinds[one.kind.GroupVersionKind] += h.items
	}
	heaviest := s
	for one, h := range a.held {
		if h.items > 0 && one.kind.before(&heaviest.kind, kinds) {
			heaviest = one
		}
	}
	own, most := kinds[s.kind.GroupVersionKind], kinds[heaviest.kind.GroupVersionKind]
	if s.begins() && !s.kind.Stays && own < most && 2*max(own, a.held[s].was) >= most {
		return s
	}
	return heaviest
}

// before says that the shelf of one kind gives way before that of another.
func (k *Kind) before(other *Kind, weights map[schema.GroupVersionKind]int64) bool {
	if k.Stays != other.Stays {
		return other.Stays
	}
	if a, b := weights[k.GroupVersionKind], weights[other.GroupVersionKind]; a != b {
		return a > b
	}
	return k.GroupVersionKind == other.GroupVersionKind && !k.Values && other.Values
}
