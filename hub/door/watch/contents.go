package watch

import (
	"slices"
	"sync"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/core/content"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// contents tells who watches content of what changes how it does: of the kinds that a placement has, whatever changes the
// placement or what its members say.
type contents struct {
	records *records.Tables
	bound   *store.Inverse
	tell    func(topics ...string)

	mu sync.Mutex
	of map[string][]string // topics of the kinds that the newest snapshot has, by placement
}

func newContents(leader *store.Store, r *records.Tables, tell func(topics ...string)) *contents {
	c := &contents{records: r, bound: placed.Bound(leader.State.As(subjects.Door)), tell: tell, of: map[string][]string{}}
	r.Snapshots.OnChange(func(name string) { c.cut(subjects.Snapshots.Group(name)) })
	for _, table := range []interface{ OnChange(f func(string)) }{r.Placements, r.Schedules, r.Releases} {
		table.OnChange(c.placement)
	}
	r.Seen.OnChange(c.member)
	r.Freezes.OnChange(func(string) { c.all() })
	leader.Results.OnChange(func(key string) {
		if _, kind, placement, ok := subjects.ParseResultKey(key); ok && kind == subjects.CommandPlacement {
			c.placement(placement)
		}
	})
	return c
}

// cut follows a placement whose snapshots changed; what it had before is told of too.
func (c *contents) cut(placement string) {
	var topics []string
	last := groupKind{}
	for _, snapshot := range c.records.Newest(placement) {
		for i := range snapshot.Manifests {
			ref := &snapshot.Manifests[i].ObjectRef
			if now := (groupKind{content.GroupOf(ref.APIVersion), ref.Kind}); now != last {
				last = now
				topics = append(topics, topicsOfContent(now.group, now.kind)...)
			}
		}
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	c.mu.Lock()
	before := c.of[placement]
	if c.of[placement] = topics; len(topics) == 0 {
		delete(c.of, placement)
	}
	c.mu.Unlock()
	c.tell(before...)
	c.tell(topics...)
}

type groupKind struct{ group, kind string }

// placement tells of what a placement has.
func (c *contents) placement(name string) {
	if topics := c.topics(name); len(topics) > 0 {
		c.tell(topics...)
	}
}

func (c *contents) topics(placement string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[placement]
}

// member tells of what the placements have that are bound to a member.
func (c *contents) member(name string) {
	for _, placement := range c.bound.Of(name) {
		c.placement(placement)
	}
}

func (c *contents) all() {
	for _, name := range c.records.Placements.Names() {
		c.placement(name)
	}
}

// Due tells of an object of content, as content.Key names it, whose status time alone has changed.
func (w *Watch) Due(key string) { w.news.tell(topicsOf(subjects.ObjectSpecs.Key(key))...) }
