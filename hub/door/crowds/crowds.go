// Package crowds bounds what a change of content costs those who write after it: each placement that holds something of a namespace is cut anew
// when anything in it changes. Package draft uses it.
package crowds

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"flotilla/core/api"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// mostHeld is how many objects the placements of one place hold together. A processor cuts snapshots of 150,000 objects a second, and
// of a placement that holds fewer than leastHeld as if it held that many.
const (
	mostHeld  = 300_000
	leastHeld = 100
)

// Crowds count how many objects the placements hold that have something of a place: of a namespace or, of what lies in none, an object.
type Crowds struct {
	records *records.Tables
	most    int

	mu      sync.Mutex
	changed map[string]struct{} // placements whose snapshots are to be looked at
	of      map[string]holding  // by placement
	sum     map[string]int      // by place
}

// holding is what the newest snapshot of a placement holds: of one that is going nothing, as that is cut no more.
type holding struct {
	objects int
	places  []string
}

// New counts what snapshots hold, from now on.
func New(tables *records.Tables) *Crowds {
	c := &Crowds{records: tables, most: mostHeld, changed: map[string]struct{}{}, of: map[string]holding{}, sum: map[string]int{}}
	changed := func(placement string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed[placement] = struct{}{}
	}
	tables.Snapshots.OnChange(func(name string) { changed(subjects.Snapshots.Group(name)) })
	tables.Placements.OnChange(changed)
	return c
}

// in is how many objects the placements of a place hold.
func (c *Crowds) in(place string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow()
	return c.sum[place]
}

// held is what a placement holds.
func (c *Crowds) held(placement string) holding {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow()
	return c.of[placement]
}

func (c *Crowds) follow() {
	for placement := range c.changed {
		now := holding{}
		if newest := c.records.Newest(placement); len(newest) > 0 && !c.going(placement) {
			now = holdingOf(newest[0])
		}
		add(c.sum, c.of[placement], -1)
		add(c.sum, now, 1)
		if c.of[placement] = now; len(now.places) == 0 {
			delete(c.of, placement)
		}
	}
	clear(c.changed)
}

// going says that a placement is deleted, and waits until its members confirm that.
func (c *Crowds) going(placement string) bool {
	stored, _, found := c.records.Placements.Get(placement)
	return found && stored.Deleted != nil
}

// add adds a holding to what places hold, or takes it away.
func add(sum map[string]int, h holding, sign int) {
	for _, place := range h.places {
		if sum[place] += sign * h.objects; sum[place] == 0 {
			delete(sum, place)
		}
	}
}

func holdingOf(s *api.Snapshot) holding {
	places := map[string]struct{}{}
	last := ""
	for i := range s.Manifests {
		if place := placeOf(&s.Manifests[i]); place != last {
			last = place
			places[place] = struct{}{}
		}
	}
	return holding{max(leastHeld, len(s.Manifests)), slices.Collect(maps.Keys(places))}
}

// placeOf is where something has to change for a manifest to be others.
func placeOf(m *api.Manifest) string {
	switch {
	case m.Envelope != "":
		return m.Envelope
	case m.Namespace != "":
		return "namespace " + m.Namespace
	}
	return m.String()
}

// Draft is what one draft changes of that. One goroutine uses it at a time.
type Draft struct {
	*Crowds
	// Several says that the draft can be made in parts: it is of several documents.
	Several bool

	cut   map[string]holding // by placement
	taken int                // by placements that follow what changes
}

// Follows counts what a placement takes that is cut anew, or may have to be, because of what changes.
func (d *Draft) Follows(objects int) { d.taken += max(leastHeld, objects) }

// GoOn errs where what changes at once has too much cut anew in all; each of its documents alone may change.
func (d *Draft) GoOn() error {
	if !d.Several || d.taken <= d.most {
		return nil
	}
	return &api.Failure{
		Code: api.CodeTooLarge, Next: "flotilla apply --help",
		Message: fmt.Sprintf("the placements that select what the request changes hold more than %d objects in all, where one that holds fewer than %d counts as that many, "+
			"and nobody else could write meanwhile: apply fewer documents at a time, those of one namespace together", d.most, leastHeld),
	}
}

// Cut notes that a snapshot becomes the newest of its placement.
func (d *Draft) Cut(s *api.Snapshot) {
	if d.cut == nil {
		d.cut = map[string]holding{}
	}
	d.cut[s.Placement] = holdingOf(s)
}

// Check errs where placements hold more than before of a place that holds too much then.
func (d *Draft) Check() error {
	if err := d.GoOn(); err != nil {
		return err
	}
	more := map[string]int{}
	for placement, now := range d.cut {
		add(more, d.held(placement), -1)
		add(more, now, 1)
	}
	for _, place := range slices.SortedFunc(maps.Keys(more), func(a, b string) int { return cmp.Or(more[b]-more[a], cmp.Compare(a, b)) }) {
		held := d.in(place) + more[place]
		if more[place] <= 0 {
			break
		}
		if held > d.most {
			return &api.Failure{
				Code: api.CodeTooLarge, Next: "flotilla get placements",
				Message: fmt.Sprintf("the placements that hold something of %s would hold %d objects in all, at most %d, where one that holds fewer than %d counts as that many: whoever changes one of them would hold up all who write; "+
					"have fewer placements select it, or each of them less", place, held, d.most, leastHeld),
			}
		}
	}
	return nil
}
