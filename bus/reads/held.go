package reads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// heldFor is for how long somebody counts as held back since a read was refused last.
const heldFor = time.Minute

// Held is somebody of whom reads are refused.
type Held struct {
	Object string // "member/oslo"; "server/edge" for all behind a leaf node
	Since  time.Time
}

// held are those of whom reads were refused, by object: since when, and when last.
type held map[string]struct{ since, last time.Time }

func (h held) note(object string, now time.Time) {
	times, found := h[object]
	if !found || now.Sub(times.last) >= heldFor {
		times.since = now
	}
	times.last = now
	h[object] = times
}

// sweep forgets those of whom no read was refused within the last minute.
func (h held) sweep(now time.Time) {
	maps.DeleteFunc(h, func(_ string, times struct{ since, last time.Time }) bool { return now.Sub(times.last) >= heldFor })
}

// Held are those of whom reads were refused within the last minute, by object.
func (r *Reader) Held() (all []Held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held.sweep(r.conn.Now())
	for object, times := range r.held {
		all = append(all, Held{object, times.since})
	}
	slices.SortFunc(all, func(a, b Held) int { return cmp.Compare(a.Object, b.Object) })
	return all
}

// Text says why reads are refused.
func (h Held) Text() string {
	return fmt.Sprintf("reads more than a hub sends it, which is %d MiB at once and %d MiB a second: beyond %d reads that wait more are refused",
		sent.Burst*unit>>20, int(time.Second/sent.Every)*unit>>20, room(h.Object))
}
