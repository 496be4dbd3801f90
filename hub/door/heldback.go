package door

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/subjects"
)

// heldBackFor is for how long it is a problem of the fleet that somebody was refused because of too many requests, and how often an event
// tells of one person at most.
const heldBackFor = time.Minute

// heldBack are the people whose requests were refused because they have too many with the hub.
type heldBack struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func newHeldBack() *heldBack { return &heldBack{last: map[string]time.Time{}} }

// note takes down that somebody was held back, and reports whether an event is to tell of it.
func (h *heldBack) note(person string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last, found := h.last[person]; found && now.Sub(last) < heldBackFor {
		return false
	}
	h.last[person] = now
	return true
}

// problems are those of the last minute.
func (h *heldBack) problems(now time.Time) (problems []api.Problem) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for person, since := range h.last {
		if now.Sub(since) >= heldBackFor {
			delete(h.last, person)
			continue
		}
		problems = append(problems, api.Problem{
			Object: userObject(person), Reason: health.ReasonHeldBack, Message: tooMany(person), Since: metav1.NewTime(since), Next: "flotilla events --by " + person,
		})
	}
	slices.SortFunc(problems, func(a, b api.Problem) int { return strings.Compare(a.Object, b.Object) })
	return problems
}

func userObject(person string) string { return subjects.KindUser + "/" + person }

func tooMany(person string) string {
	return fmt.Sprintf("%s asks more at once than the hub answers one person: requests are refused, and asked again, until others of theirs were answered", person)
}

// holdBack tells, once a minute at most, that requests of a person are refused because they have too many with the hub.
func (d *Door) holdBack(person string) {
	if !d.heldBack.note(person, d.store.Now()) {
		return
	}
	d.options.Log.Warn().Str("person", person).Msg("a person has too many requests with the hub: more are refused")
	d.store.Audit.Record(api.Audit{Object: userObject(person), Type: "Warning", Reason: health.ReasonHeldBack, By: "door", Message: tooMany(person)})
}
