package scheduler

import (
	"slices"
	"sync"
	"time"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

// interest says what changes of members concern a placement.
type interest struct {
	// eager placements take in members that come to fit: PickAll, those that lack members, and those
	// that may hold on to a silent member for want of another.
	eager bool
	// properties are those that the policy names, canonical.
	properties []string
	// namespace is what members must have, empty for any.
	namespace string
	// waits is set while members that are drained, or may be picked again, wait for what is released and reported.
	waits bool
	// due is when it was, or will be, woken for less than that.
	due time.Time
}

// interests are those of all placements that were decided.
type interests struct {
	mu sync.Mutex
	of map[string]*interest
}

func interestIn(in *schedule.Input, plan *schedule.Plan, waits bool) interest {
	return interest{
		waits:      waits || in.AllowEvicted && len(in.Evicted) > 0,
		eager:      in.Policy.Type() == api.PickAll || !plan.Fulfilled || in.FailoverAfter > 0,
		properties: namedProperties(in.Policy),
		namespace:  in.Namespace,
	}
}

// namedProperties lists the properties that a policy selects or sorts by.
func namedProperties(p *api.Policy) []string {
	if p == nil || p.Affinity == nil || p.Affinity.ClusterAffinity == nil {
		return nil
	}
	var names []string
	if required := p.Affinity.ClusterAffinity.Required; required != nil {
		for _, term := range required.ClusterSelectorTerms {
			if term.PropertySelector == nil {
				continue
			}
			for _, e := range term.PropertySelector.MatchExpressions {
				names = append(names, api.CanonicalProperty(e.Name))
			}
		}
	}
	for _, term := range p.Affinity.ClusterAffinity.Preferred {
		if sorter := term.Preference.Sorter(); sorter != nil {
			names = append(names, api.CanonicalProperty(sorter.Name))
		}
	}
	return names
}

func (i *interests) set(placement string, now interest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if before := i.of[placement]; before != nil {
		now.due = before.due
	}
	i.of[placement] = &now
}

func (i *interests) drop(placement string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.of, placement)
}

// eager reports whether the placement may take the member in; one that was not decided yet may.
func (i *interests) eager(placement string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.of[placement]
	return known == nil || known.eager
}

// naming lists the placements whose policy names any of the properties.
func (i *interests) naming(properties []string) []string {
	return i.list(func(known *interest) bool {
		return slices.ContainsFunc(known.properties, func(name string) bool { return slices.Contains(properties, name) })
	})
}

// within lists the placements that go to members with one of some namespaces.
func (i *interests) within(one func(namespace string) bool) []string {
	return i.list(func(known *interest) bool { return known.namespace != "" && one(known.namespace) })
}

// waits reports whether what is released and reported concerns the placement.
func (i *interests) waits(placement string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.of[placement]
	return known != nil && known.waits
}

func (i *interests) list(concerned func(*interest) bool) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var placements []string
	for placement, known := range i.of {
		if concerned(known) {
			placements = append(placements, placement)
		}
	}
	return placements
}

// due says when the placement is to be woken: now, or a pause after the last time. While a time that
// it said lies ahead it says the same again, because a decision for another cause takes a key's timer
// away.
func (i *interests) due(placement string, now time.Time, pause time.Duration) time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.of[placement]
	if known == nil {
		return now
	}
	if known.due.After(now) {
		return known.due
	}
	next := now
	if !known.due.IsZero() && known.due.Add(pause).After(now) {
		next = known.due.Add(pause)
	}
	known.due = next
	return next
}
