package crowds

import (
	"fmt"
	"maps"
	"sync"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/door/records"
)

// mostLooks is how often the selectors of all placements look at objects of one kind, or of one namespace, and mostLooksInAll at
// all objects: once at each for each of their requirements. A hub that takes over looks at all of them; a processor looks fifteen
// million times a second.
const (
	mostLooks      = 20_000_000
	mostLooksInAll = 50_000_000
)

// Looks count how often the selectors of all placements look at objects.
type Looks struct {
	records         *records.Tables
	most, mostInAll int

	mu      sync.Mutex
	changed map[string]struct{}               // placements to be read anew
	of      map[string]map[content.Ground]int // by placement
	sum     map[content.Ground]int
}

// NewLooks counts the looks of placements, from now on.
func NewLooks(tables *records.Tables) *Looks {
	l := &Looks{
		records: tables, most: mostLooks, mostInAll: mostLooksInAll, changed: map[string]struct{}{},
		of: map[string]map[content.Ground]int{}, sum: map[content.Ground]int{},
	}
	tables.Placements.OnChange(func(placement string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed[placement] = struct{}{}
	})
	return l
}

func (l *Looks) follow() {
	for placement := range l.changed {
		now := l.stored(placement)
		plus(l.sum, l.of[placement], -1)
		plus(l.sum, now, 1)
		if l.of[placement] = now; len(now) == 0 {
			delete(l.of, placement)
		}
	}
	clear(l.changed)
}

// stored are the looks of a placement that is stored: none of one that is going, or that cannot be read.
func (l *Looks) stored(placement string) map[content.Ground]int {
	stored, revision, found := l.records.Placements.Get(placement)
	if !found || stored.Deleted != nil {
		return nil
	}
	p, err := l.records.Placement(&store.Entry[api.Spec]{Name: placement, Value: stored, Revision: revision})
	if err != nil {
		return nil
	}
	return content.Looks(p.Spec.ResourceSelectors, p.Namespace)
}

func plus(sum, looks map[content.Ground]int, sign int) {
	for at, times := range looks {
		if sum[at] += sign * times; sum[at] == 0 {
			delete(sum, at)
		}
	}
}

// Check errs where placements look at objects more often than before, and too often then. Index is that of a draft, and written are the
// placements that it writes, nil for one that goes. It returns how often those look; nothing of a single one that looks no more than
// before, so that it can be made smaller.
func (l *Looks) Check(index *content.Index, written map[string]*api.Placement) (looked int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow()
	more, before := map[content.Ground]int{}, 0
	for placement, p := range written {
		plus(more, l.of[placement], -1)
		for at, times := range l.of[placement] {
			_, was := index.Extent(at)
			before += times * was
		}
		if p == nil {
			continue
		}
		for at, times := range content.Looks(p.Spec.ResourceSelectors, p.Namespace) {
			now, _ := index.Extent(at)
			more[at] += times
			looked += times * now
		}
	}
	if len(written) == 1 && looked <= before {
		looked = 0
	}
	if len(more) == 0 && !index.Added() {
		return looked, nil
	}
	return looked, l.check(index, more)
}

// check holds what all placements would do against the bounds.
func (l *Looks) check(index *content.Index, more map[content.Ground]int) error {
	all := maps.Clone(l.sum)
	plus(all, more, 1)
	var inAll, most growth
	for at, times := range all {
		now, was := index.Extent(at)
		one := growth{at: at, before: l.sum[at] * was, after: times * now}
		if inAll.before, inAll.after = inAll.before+one.before, inAll.after+one.after; one.more() > most.more() {
			most = one
		}
		if one.after > l.most && one.more() > 0 {
			return one.refusal(at.String(), l.most)
		}
	}
	for at, times := range l.sum {
		if _, still := all[at]; !still {
			_, was := index.Extent(at)
			inAll.before += times * was
		}
	}
	if inAll.after > l.mostInAll && inAll.more() > 0 {
		return inAll.refusal("objects of all kinds, of which most are "+most.at.String()+",", l.mostInAll)
	}
	return nil
}

// growth is how often a ground is looked at, before a change and after it.
type growth struct {
	at            content.Ground
	before, after int
}

func (g *growth) more() int { return g.after - g.before }

// refusal names what is looked at too often.
func (g *growth) refusal(what string, most int) error {
	return &api.Failure{
		Code: api.CodeTooLarge, Next: "flotilla get placements",
		Message: fmt.Sprintf("the selectors of all placements would look at %s %d times, %d times more than now, at most %d, once at each object for each of their requirements: "+
			"a hub that takes over could not be written to meanwhile; have fewer placements select them by labels, with fewer requirements, or name what they select", what, g.after, g.more(), most),
	}
}
