package streams

import (
	"context"
	"fmt"
	"time"

	"flotilla/subjects"
)

const (
	// soonAfter is how long content must have been unreferenced before it is removed where that is wanted soon: whoever read
	// of it before, a request or a member with an older command, has read it by then, or is told something newer.
	soonAfter = 30 * time.Second
	// idleParts is into how many parts the room for content goes, of which what one person wrote, and nothing refers to any
	// more, is to take one at most.
	idleParts = 16
)

// author is the key of who has content stored under a context.
type author struct{}

// As returns a context under which content is stored on behalf of a person.
func As(ctx context.Context, person string) context.Context {
	return context.WithValue(ctx, author{}, person)
}

// written is who had a piece stored since this hub leads, how long it is, and when that was.
type written struct {
	by    string
	bytes int64
	at    time.Time
}

// idle is what nothing refers to of what people had stored. The lock of the content guards it.
type idle struct {
	written map[string]written // by place
	of      map[string]held    // by person
	most    int64              // of one person
	// listed is when a backup noted last what is stored: it reads that within an hour, referred to or not.
	listed time.Time
	wanted chan struct{}
}

// held is what a person has stored.
type held struct {
	idle  int64     // bytes that nothing referred to at the last pass
	since int64     // bytes stored since
	until time.Time // by when that which is idle may go
}

func newIdle() idle {
	return idle{written: map[string]written{}, of: map[string]held{}, most: maxContentBytes / idleParts, wanted: make(chan struct{}, 1)}
}

// put notes a piece that a person had stored. Whoever may have more idle than is allowed wants a pass.
func (i *idle) put(at string, w written) {
	i.written[at] = w
	if w.by == "" {
		return
	}
	h := i.of[w.by]
	h.since += w.bytes
	i.of[w.by] = h
	if h.idle+h.since > i.most {
		select {
		case i.wanted <- struct{}{}:
		default:
		}
	}
}

// gone forgets a piece that was removed.
func (i *idle) gone(at string) {
	w := i.written[at]
	delete(i.written, at)
	if h, known := i.of[w.by]; known {
		h.idle -= w.bytes
		i.of[w.by] = h
	}
}

// count adds up what is idle of each person, without what a backup counts on. It forgets what is not stored any more, whoever
// removed it.
func (i *idle) count(used map[string]bool, all listing, now time.Time) {
	clear(i.of)
	for at, w := range i.written {
		switch {
		case !all.places[at] && w.at.Before(all.asked):
			i.gone(at)
		case w.by != "" && !used[at] && !i.kept(at, now):
			h := i.of[w.by]
			h.idle += w.bytes
			i.of[w.by] = h
		}
	}
}

// kept says that a backup counts on a piece.
func (i *idle) kept(at string, now time.Time) bool {
	w, known := i.written[at]
	return now.Sub(i.listed) < SweepAfter && (!known || !w.at.After(i.listed))
}

// patience is how long a piece must have been unreferenced before it goes.
func (i *idle) patience(at string, soon bool, now time.Time) time.Duration {
	if i.kept(at, now) || !soon && i.of[i.written[at].by].idle <= i.most {
		return SweepAfter
	}
	return soonAfter
}

// goes notes that a piece of a person may go at a time.
func (i *idle) goes(at string, when time.Time) {
	w, known := i.written[at]
	if h, is := i.of[w.by]; known && is && when.After(h.until) {
		h.until = when
		i.of[w.by] = h
	}
}

// Overdrawn is what was idle at the last pass of what a person had stored, what may be, and by when it may go; false while it is no
// more than that.
func (c *Content) Overdrawn(person string) (bytes, most int64, until time.Time, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.idle.of[person]
	return h.idle, c.idle.most, h.until, h.idle > c.idle.most
}

// Wanted says that somebody may have more idle than is allowed, once for many.
func (c *Content) Wanted() <-chan struct{} { return c.idle.wanted }

// Wants says whether somebody may.
func (c *Content) Wants() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.idle.of {
		if h.idle+h.since > c.idle.most {
			return true
		}
	}
	return false
}

// Percent is how full the store of content is, 0 where nothing limits it.
func (c *Content) Percent(ctx context.Context) (int, error) {
	stream, err := c.conn.JS.Stream(ctx, c.conn.Fleet.BucketStream(subjects.Content))
	if err != nil {
		return 0, fmt.Errorf("asking how full the content is: %w", err)
	}
	info := stream.CachedInfo()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle.most = maxContentBytes / idleParts
	if info.Config.MaxBytes <= 0 {
		return 0, nil
	}
	c.idle.most = info.Config.MaxBytes / idleParts
	return int(100 * int64(info.State.Bytes) / info.Config.MaxBytes), nil
}

// Listed lists the places of all content, sorted, for a backup: what is listed is not removed sooner than usual.
func (c *Content) Listed(ctx context.Context) ([]string, error) {
	c.mu.Lock()
	c.idle.listed = c.conn.Now()
	c.mu.Unlock()
	return c.Stored(ctx)
}
