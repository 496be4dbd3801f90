package capacity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// Span is a stretch of time in which the limits of a pool do not change: [From, To).
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Limits are the nodes that may be down at once, by reason.
	Limits map[string]Count `json:"limits"`
}

// String is "2026-11-16 09:00 - 17:00 UTC  0" when all reasons are equal, and names them otherwise.
func (s Span) String() string {
	return fmt.Sprintf("%s - %s  %s", s.From.Format("Mon 2006-01-02 15:04"), s.To.Format("Mon 2006-01-02 15:04"), limitsText(s.Limits))
}

func limitsText(limits map[string]Count) string {
	first := limits[api.DisruptionReasons[0]]
	same := true
	var parts []string
	for _, reason := range api.DisruptionReasons {
		same = same && limits[reason] == first
		parts = append(parts, reason+" "+limits[reason].String())
	}
	if same {
		return first.String()
	}
	return strings.Join(parts, ", ")
}

// Calendar lists the limits of a pool of total nodes from one moment to another. Neighbouring spans
// differ.
func (b Budgets) Calendar(from, to time.Time, total int) []Span {
	at := append([]time.Time{from.UTC()}, b.changes(from, to)...)
	var spans []Span
	for i, start := range at {
		end := to.UTC()
		if i+1 < len(at) {
			end = at[i+1]
		}
		if !end.After(start) {
			continue
		}
		s := Span{From: start, To: end, Limits: b.limits(start, total)}
		if n := len(spans); n > 0 && sameLimits(spans[n-1].Limits, s.Limits) {
			spans[n-1].To = end
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

func (b Budgets) limits(now time.Time, total int) map[string]Count {
	out := make(map[string]Count, len(api.DisruptionReasons))
	for _, reason := range api.DisruptionReasons {
		out[reason] = b.Limit(now, total, reason, Rules{})
	}
	return out
}

func sameLimits(a, b map[string]Count) bool {
	return !slices.ContainsFunc(api.DisruptionReasons, func(r string) bool { return a[r] != b[r] })
}

// NextChange is the first moment after now at which a limit of the pool may be another; zero when
// there is none within a year.
func (b Budgets) NextChange(now time.Time) time.Time {
	var next time.Time
	for i := range b.List {
		one := &b.List[i]
		if one.hits == nil || one.never || one.duration <= 0 {
			continue
		}
		if hit := one.hits.next(now); !hit.IsZero() && (next.IsZero() || hit.Before(next)) {
			next = hit
		}
		if began := one.hits.next(now.Add(-one.duration)); !began.After(now) {
			if end := began.Add(one.duration); next.IsZero() || end.Before(next) {
				next = end
			}
		}
	}
	return next
}

// maxChanges bounds how many moments a calendar looks at.
const maxChanges = 5000

// changes returns the moments in (from, to] at which some budget begins or ceases to count, sorted.
func (b Budgets) changes(from, to time.Time) []time.Time {
	var out []time.Time
	for i := range b.List {
		one := &b.List[i]
		if one.hits == nil || one.never || one.duration <= 0 {
			continue
		}
		out = one.changes(from, to, out)
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// changes appends the moments in (from, to] at which the budget begins or ceases to count, in order, up to maxChanges in all. What
// begins and ends outside is passed over at once: between the two there may be years of windows.
func (b *budget) changes(from, to time.Time, out []time.Time) []time.Time {
	begins, ends := b.hits.next(from), b.hits.next(from.Add(-b.duration))
	for len(out) < maxChanges {
		end := ends.Add(b.duration)
		switch {
		case !begins.IsZero() && !begins.After(to) && (ends.IsZero() || !begins.After(end)):
			out = append(out, begins.UTC())
			begins = b.hits.next(begins)
		case !ends.IsZero() && !end.After(to):
			out = append(out, end.UTC())
			ends = b.hits.next(ends)
		default:
			return out
		}
	}
	return out
}
