package worker

import (
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/apply"
)

const (
	// correctedFor is for how long an object is told of as corrected after it was last: who changes it again
	// and again makes one drift of it.
	correctedFor = 10 * time.Minute
	// maxCorrected bounds the corrected objects that a result lists, maxFields where each had been changed.
	maxCorrected = 10
	maxFields    = 256
	// foughtAfter is how often an object is written over within correctedFor until it counts as fought over; from
	// then on it is written over no more often than foughtPause.
	foughtAfter = 5
	foughtPause = time.Minute
)

// corrections are the objects of each placement that were changed on the member and written over of late.
type corrections struct {
	mu          sync.Mutex
	byPlacement map[string]*corrected
}

// corrected are those of one placement.
type corrected struct {
	uid     string
	objects map[apply.Identity]*correction
}

// correction is one object, told of as it was when it was corrected first.
type correction struct {
	api.Correction
	last  time.Time
	times []time.Time // of the last writes, the newest last
	held  bool        // it is changed, and not to be written over yet
}

// newCorrections goes on with what the last results told of.
func newCorrections(results map[string]api.PlacementResult, now time.Time) *corrections {
	c := &corrections{byPlacement: map[string]*corrected{}}
	for placement, r := range results {
		for _, one := range r.Corrected {
			c.of(placement, r.UID).objects[apply.IdentityOf(one.ObjectRef)] = &correction{Correction: one, last: now}
		}
	}
	return c
}

// of are those of a placement; of another one of the same name nothing is kept. The lock is held.
func (c *corrections) of(placement, uid string) *corrected {
	if own := c.byPlacement[placement]; own != nil && own.uid == uid {
		return own
	}
	own := &corrected{uid: uid, objects: map[apply.Identity]*correction{}}
	c.byPlacement[placement] = own
	return own
}

// note takes in what a plan corrected.
func (c *corrections) note(e api.IndexEntry, done []performed, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range done {
		op := &done[i].op
		if op.Drifted == "" || done[i].err != nil {
			continue
		}
		own, id := c.of(e.Placement, e.UID), apply.IdentityOf(op.ObjectRef)
		if own.objects[id] == nil {
			since := metav1.NewTime(now.Truncate(time.Second))
			own.objects[id] = &correction{Correction: api.Correction{ObjectRef: op.ObjectRef, Fields: shorten(op.Drifted, maxFields), Since: since}}
		}
		own.objects[id].written(now)
	}
}

// written counts one more time that the object was written over.
func (c *correction) written(now time.Time) {
	c.last, c.held = now, false
	c.times = append(c.times, now)
	c.times = slices.DeleteFunc(c.times, func(at time.Time) bool { return !now.Before(at.Add(correctedFor)) })
	c.times = c.times[max(0, len(c.times)-foughtAfter):]
	c.Fought = c.Fought || len(c.times) == foughtAfter
}

// calm has a plan leave alone for now what is fought over and was written over just before.
func (c *corrections) calm(e api.IndexEntry, plan apply.Plan, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.of(e.Placement, e.UID)
	for _, wave := range plan.Waves {
		for i := range wave {
			op := &wave[i]
			one := own.objects[apply.IdentityOf(op.ObjectRef)]
			if one == nil {
				continue
			}
			one.held = op.Drifted != "" && one.Fought && now.Before(one.last.Add(foughtPause))
			if one.held {
				op.Verb, op.Object, op.Drifted = apply.Keep, op.Live, ""
			}
		}
	}
}

// tell fills in the corrections of late, and returns when the first of them is of late no more, zero
// without any.
func (c *corrections) tell(r *api.PlacementResult, now time.Time) (over time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.byPlacement[r.Placement]
	if own == nil || own.uid != r.UID {
		return time.Time{}
	}
	maps.DeleteFunc(own.objects, func(_ apply.Identity, one *correction) bool { return !now.Before(one.last.Add(correctedFor)) })
	r.Corrected, r.CorrectedTotal = nil, len(own.objects)
	for _, one := range own.objects {
		r.Corrected = append(r.Corrected, one.Correction)
		until := one.last.Add(correctedFor)
		if one.held {
			until = one.last.Add(foughtPause)
		}
		if over.IsZero() || until.Before(over) {
			over = until
		}
	}
	slices.SortFunc(r.Corrected, func(a, b api.Correction) int { return apply.CompareRefs(a.ObjectRef, b.ObjectRef) })
	r.Corrected = r.Corrected[:min(len(r.Corrected), maxCorrected)]
	return over
}

func (c *corrections) forget(placement string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byPlacement, placement)
}
