package faults

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Rules that a history can break.
const (
	Lost         = "lost"         // what was acknowledged is not there, and nothing that came after it either
	Doubled      = "doubled"      // one request was carried out twice
	Backwards    = "backwards"    // something older was seen after something newer
	Phantom      = "phantom"      // what nobody asked for, or what was refused, is there
	Unnoticed    = "unnoticed"    // what was acknowledged is gone, and the hub did not say so
	Interleaved  = "interleaved"  // two hubs led at once
	Unavailable  = "unavailable"  // more members at once than the strategy allows
	NotConverged = "notConverged" // a member holds something else than is placed there
)

// Violation is a broken promise.
type Violation struct {
	Rule, Object, Text string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Rule, v.Object, v.Text) }

// Limits are what a campaign's placements allow.
type Limits struct {
	// MaxUnavailable is on how many members at once a placement may be unavailable because of an update; those that
	// are not named may be on any.
	MaxUnavailable map[string]int
}

// Check returns every promise that a history breaks, sorted; of many breaks of one rule by one object the first.
func Check(h *History, limits Limits) []Violation {
	c := &checker{History: h, limits: limits, seen: map[Violation]bool{}}
	c.index()
	c.checkReads()
	c.checkOnce()
	c.checkOrder()
	c.checkGenerations()
	c.checkMembers()
	c.checkReigns()
	c.checkLosses()
	c.checkSpells()
	c.checkEnd()
	slices.SortFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Object, b.Object))
	})
	return c.found
}

type checker struct {
	*History
	limits Limits
	// writes are those of each object, byRequest those of each request and object.
	writes    map[string][]*Write
	byRequest map[[2]string]*Write
	seen      map[Violation]bool // without their texts
	found     []Violation
}

func (c *checker) index() {
	c.writes, c.byRequest = map[string][]*Write{}, map[[2]string]*Write{}
	for i := range c.Writes {
		w := &c.Writes[i]
		c.writes[w.Object] = append(c.writes[w.Object], w)
		if !w.Delete {
			c.byRequest[[2]string{w.Object, w.Request}] = w
		}
	}
}

func (c *checker) report(rule, object, format string, arguments ...any) {
	key := Violation{Rule: rule, Object: object}
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	c.found = append(c.found, Violation{rule, object, fmt.Sprintf(format, arguments...)})
}

// era is how many restores and losses there were before s; false when one was meanwhile.
func (c *checker) era(s Span) (n int, whole bool) {
	whole = true
	count := func(from, to time.Duration) {
		switch {
		case to <= s.Began:
			n++
		case from <= s.Ended:
			whole = false
		}
	}
	for _, r := range c.Restores {
		count(r.Copied, r.Restored)
	}
	for i := range c.Losses {
		count(c.Losses[i].Began, c.Losses[i].Ended)
	}
	return n, whole
}

// binding says that a write that was acknowledged must be seen by who asks from began on: it was answered before
// that, and no older data took its place.
func (c *checker) binding(w *Write, began Span) bool {
	if w.Outcome != Acknowledged || w.Ended > began.Began {
		return false
	}
	for _, r := range c.Restores {
		if w.Ended > r.Copied && w.Began < r.Restored && r.Restored <= began.Began {
			return false
		}
	}
	for i := range c.Losses {
		l := &c.Losses[i]
		before := l.Tail && w.Ended <= l.Began
		if slices.Contains(l.Objects, w.Object) && !before && w.Began < l.Ended && l.Ended <= began.Began {
			return false
		}
	}
	return true
}

// newest is the newest of an object's writes that a reader must see or find replaced.
func (c *checker) newest(object string, at Span) *Write {
	var newest *Write
	for _, w := range c.writes[object] {
		if !w.Delete && c.binding(w, at) && (newest == nil || newest.Less(w.Version)) {
			newest = w
		}
	}
	return newest
}

// checkReads holds each reading, and the end, against what was acknowledged before it.
func (c *checker) checkReads() {
	for i := range c.Reads {
		if _, whole := c.era(c.Reads[i].Span); whole {
			c.checkRead(&c.Reads[i])
		}
	}
}

func (c *checker) checkRead(r *Read) {
	newest := c.newest(r.Object, r.Span)
	if r.Absent {
		if newest != nil && !c.deletedAfter(newest, r.Span) {
			c.report(Lost, r.Object, "absent at %s, although %s was acknowledged at %s and nobody deleted it", r.Began, newest.State, newest.Ended)
		}
		return
	}
	by := c.byRequest[[2]string{r.Object, r.Request}]
	switch {
	case by == nil || by.Began > r.Ended:
		c.report(Phantom, r.Object, "%s was seen at %s, and nobody had asked for it", r.State, r.Began)
	case by.Outcome == Refused:
		c.report(Phantom, r.Object, "%s was seen at %s, although it was refused at %s", r.State, r.Began, by.Ended)
	case newest != nil && r.Less(newest.Version):
		c.report(Lost, r.Object, "%s was seen at %s, after %s was acknowledged at %s", r.State, r.Began, newest.State, newest.Ended)
	}
	for _, w := range c.writes[r.Object] {
		if w.Delete && w.UID == r.UID && c.binding(w, r.Span) {
			c.report(Lost, r.Object, "%s was seen at %s, although its deletion was acknowledged at %s", r.State, r.Began, w.Ended)
		}
	}
}

// deletedAfter says that somebody may have deleted what a write made, before the end of a span.
func (c *checker) deletedAfter(made *Write, until Span) bool {
	return slices.ContainsFunc(c.writes[made.Object], func(w *Write) bool {
		return w.Delete && w.Outcome != Refused && w.Began < until.Ended && (w.Outcome == Unknown || w.Ended > made.Began)
	})
}

// told is all that the hub ever said of states, by era: what it acknowledged and what readers saw.
func (c *checker) told(each func(era int, s *State, at Span)) {
	for i := range c.Writes {
		w := &c.Writes[i]
		if era, whole := c.era(w.Span); whole && w.Outcome == Acknowledged && !w.Delete {
			each(era, &w.State, w.Span)
		}
	}
	for i := range c.Reads {
		r := &c.Reads[i]
		if era, whole := c.era(r.Span); whole && !r.Absent {
			each(era, &r.State, r.Span)
		}
	}
}

// checkOnce wants each request to have made one version of its object, and each version one request.
func (c *checker) checkOnce() {
	type place struct {
		era          int
		object, what string
	}
	made, by := map[place]Version{}, map[place]string{}
	c.told(func(era int, s *State, at Span) {
		request, version := place{era, s.Object, s.Request}, place{era, s.Object, s.Version.String()}
		if first, known := made[request]; known && first != s.Version {
			c.report(Doubled, s.Object, "request %s made version %s and, as told at %s, version %s", s.Request, first, at.Ended, s.Version)
		}
		if first, known := by[version]; known && first != s.Request {
			c.report(Doubled, s.Object, "version %s was made by request %s and, as told at %s, by request %s", s.Version, first, at.Ended, s.Request)
		}
		made[request], by[version] = s.Version, s.Request
	})
}

// checkOrder wants nobody who asks later to be told of something older.
func (c *checker) checkOrder() {
	type place struct {
		era    int
		object string
	}
	told := map[place][]Read{}
	c.told(func(era int, s *State, at Span) {
		told[place{era, s.Object}] = append(told[place{era, s.Object}], Read{Span: at, State: *s})
	})
	for _, all := range told {
		byBegin := slices.SortedFunc(slices.Values(all), func(a, b Read) int { return cmp.Compare(a.Began, b.Began) })
		byEnd := slices.SortedFunc(slices.Values(all), func(a, b Read) int { return cmp.Compare(a.Ended, b.Ended) })
		var newest *Read
		for at, i := 0, 0; at < len(byBegin); at++ {
			for ; byEnd[i].Ended < byBegin[at].Began; i++ {
				if newest == nil || newest.Less(byEnd[i].Version) {
					newest = &byEnd[i]
				}
			}
			if newest != nil && byBegin[at].Less(newest.Version) {
				c.report(Backwards, newest.Object, "%s was told at %s, and %s at %s", newest.State, newest.Ended, byBegin[at].State, byBegin[at].Ended)
			}
		}
	}
}

// checkGenerations wants the generation of an object to count its writes: it grows with each version, and by no
// more than there are requests that may have been carried out.
func (c *checker) checkGenerations() {
	type life struct {
		era         int
		object, uid string
	}
	told := map[life]map[Version]State{}
	c.told(func(era int, s *State, _ Span) {
		l := life{era, s.Object, s.UID}
		if told[l] == nil {
			told[l] = map[Version]State{}
		}
		told[l][s.Version] = *s
	})
	for l, states := range told {
		ordered := make([]State, 0, len(states))
		for _, s := range states {
			ordered = append(ordered, s)
		}
		slices.SortFunc(ordered, func(a, b State) int {
			return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Revision, b.Revision))
		})
		for i := 1; i < len(ordered); i++ {
			if ordered[i].Generation <= ordered[i-1].Generation {
				c.report(Backwards, l.object, "the generation did not grow: %s, then %s", ordered[i-1], ordered[i])
			}
		}
		if last := ordered[len(ordered)-1]; last.Generation > int64(c.possible(l.object)) {
			c.report(Doubled, l.object, "generation %d, by %d requests that may have been carried out", last.Generation, c.possible(l.object))
		}
	}
}

// possible is how many requests to change an object may have been carried out.
func (c *checker) possible(object string) (n int) {
	for _, w := range c.writes[object] {
		if !w.Delete && w.Outcome != Refused {
			n++
		}
	}
	return n
}

// checkMembers wants no member to go back to what it had given up for something newer.
func (c *checker) checkMembers() {
	type place struct {
		era             int
		object, request string
	}
	versions := map[place]Version{}
	c.told(func(era int, s *State, _ Span) { versions[place{era, s.Object, s.Request}] = s.Version })
	type holding struct {
		era            int
		member, object string
	}
	newest := map[holding]Version{}
	for _, s := range c.Shown {
		era, whole := c.era(Span{s.At, s.At})
		version, known := versions[place{era, s.Object, s.Request}]
		if !whole || !known {
			continue
		}
		h := holding{era, s.Member, s.Object}
		if version.Less(newest[h]) {
			c.report(Backwards, s.Object, "%s had version %s and, at %s, had version %s of request %s", s.Member, newest[h], s.At, version, s.Request)
			continue
		}
		newest[h] = version
	}
}

// checkReigns wants terms that never go back, and one leader for each.
func (c *checker) checkReigns() {
	leaders := map[uint64]string{}
	byEnd := slices.SortedFunc(slices.Values(c.Reigns), func(a, b Reign) int { return cmp.Compare(a.Ended, b.Ended) })
	byBegin := slices.SortedFunc(slices.Values(c.Reigns), func(a, b Reign) int { return cmp.Compare(a.Began, b.Began) })
	i, term := 0, uint64(0)
	for _, r := range byBegin {
		if first, known := leaders[r.Term]; known && first != r.Leader {
			c.report(Interleaved, "hub", "%s and %s both led in term %d", first, r.Leader, r.Term)
		}
		leaders[r.Term] = r.Leader
		for ; byEnd[i].Ended < r.Began; i++ {
			term = max(term, byEnd[i].Term)
		}
		if r.Term < term {
			c.report(Interleaved, "hub", "%s led in term %d at %s, after term %d had begun", r.Leader, r.Term, r.Ended, term)
		}
	}
}

// checkLosses wants the hub to have said what is gone.
func (c *checker) checkLosses() {
	for i := range c.Losses {
		l := &c.Losses[i]
		if !l.Tail {
			continue
		}
		for n := range c.Writes {
			w := &c.Writes[n]
			if w.Outcome == Acknowledged && w.Began > l.Began && w.Ended < l.Ended && !slices.Contains(l.Objects, w.Object) && !c.fleeting(w, l) {
				c.report(Unnoticed, w.Object, "%s was acknowledged at %s and is gone since %s, of which the hub said nothing", w.State, w.Ended, l.Ended)
			}
		}
	}
}

// fleeting says that what a write made or deleted began to be there within a loss, and may have been deleted within it: then nothing is
// missing that was there, and nothing is back.
func (c *checker) fleeting(w *Write, l *Loss) bool {
	older := slices.ContainsFunc(c.writes[w.Object], func(o *Write) bool { return !o.Delete && o.UID == w.UID && o.Ended <= l.Began })
	return !older && slices.ContainsFunc(c.writes[w.Object], func(o *Write) bool {
		return o.Delete && o.Outcome != Refused && (o.UID == w.UID || o.Outcome == Unknown) && o.Began < l.Ended && o.Ended > w.Began
	})
}

// checkSpells wants no more members at once without a placement than its strategy allows.
func (c *checker) checkSpells() {
	for i, s := range c.Spells {
		if c.decidedAnew(s.From) {
			continue
		}
		members := map[string]bool{s.Member: true}
		for j, other := range c.Spells {
			if i != j && other.Placement == s.Placement && other.From <= s.From && s.From < other.To {
				members[other.Member] = true
			}
		}
		if most, limited := c.limits.MaxUnavailable[s.Placement]; limited && len(members) > most {
			c.report(Unavailable, s.Placement, "not available on %d members at %s, at most %d may be", len(members), s.From, most)
		}
	}
}

// recovers is for how long after a loss or a restore what was decided may be decided anew, for all members at once.
const recovers = 30 * time.Second

func (c *checker) decidedAnew(at time.Duration) bool {
	return slices.ContainsFunc(c.Losses, func(l Loss) bool { return l.Began <= at && at <= l.Ended+recovers }) ||
		slices.ContainsFunc(c.Restores, func(r Restore) bool { return r.Restored <= at && at <= r.Restored+recovers })
}

// checkEnd wants every member to hold exactly what is placed.
func (c *checker) checkEnd() {
	for object, n := range c.End.Placed {
		wanted, there := c.End.Objects[object]
		if !there {
			n = 0
		}
		holding := 0
		for _, member := range c.End.Members {
			held := c.End.Held[member][object]
			switch {
			case held == "":
				continue
			case held != wanted.Request:
				c.report(NotConverged, object, "%s holds request %s, expected %q", member, held, wanted.Request)
			}
			holding++
		}
		if holding != n {
			c.report(NotConverged, object, "%d members hold it, expected %d", holding, n)
		}
	}
}
