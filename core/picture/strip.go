package picture

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/overview"
	"flotilla/core/window"
)

// MemberWindows is when one member may be worked on.
type MemberWindows struct {
	Member string
	// Always says that it has no schedule, so that it may be at any time.
	Always bool
	// Open are the windows in order; one that does not close has no end.
	Open []window.Opening
}

// Strip is for how many members a window is open, hour by hour.
type Strip struct {
	From metav1.Time `json:"from"` // a full hour
	Days int         `json:"days"`
	By   string      `json:"by"`
	// Groups are those of the members by name, those beyond overview.MaxGroups the largest in one.
	Groups []StripGroup `json:"groups"`
}

// StripGroup is a row of a strip.
type StripGroup struct {
	Name string `json:"name"`
	Rest int    `json:"rest,omitempty"` // of how many groups this one is what is left
	// Members counts all, Always those of them that have no schedule.
	Members int `json:"members"`
	Always  int `json:"always"`
	// Open counts, for each hour, the members with a window that is open at some time in it; those without a schedule are
	// not among them.
	Open []int `json:"open"`
	// Openings are not known of the groups that are in one.
	Openings
}

// stripOf counts the windows of members over so many days from a full hour on.
func stripOf(windows []MemberWindows, members []*overview.Member, by string, from time.Time, days int) Strip {
	strip, hours := Strip{From: metav1.NewTime(from), Days: days, By: cmp.Or(by, "region")}, 24*days
	found, known := map[string]*StripGroup{}, map[*window.Opening][]hourSpan{}
	for i, m := range members {
		name := m.In(strip.By)
		g := found[name]
		if g == nil {
			g = &StripGroup{Name: name, Open: make([]int, hours)}
			found[name] = g
		}
		g.add(&windows[i], spansOf(known, windows[i].Open, from, hours))
	}
	for _, g := range found {
		strip.Groups = append(strip.Groups, *g)
	}
	strip.order()
	return strip
}

// add counts the windows of one member, which are open in those hours.
func (g *StripGroup) add(w *MemberWindows, open []hourSpan) {
	g.Members++
	if w.Always {
		g.Always++
		return
	}
	for _, span := range open {
		for hour := span.first; hour < span.last; hour++ {
			g.Open[hour]++
		}
	}
}

// hourSpan are hours in a row; last is not included.
type hourSpan struct{ first, last int }

// spansOf are the hours in which windows are open, each once. Members that share windows are reckoned once.
func spansOf(known map[*window.Opening][]hourSpan, open []window.Opening, start time.Time, hours int) (spans []hourSpan) {
	if len(open) == 0 {
		return nil
	}
	if spans, found := known[&open[0]]; found {
		return spans
	}
	next := 0 // hours before it are counted already
	for i := range open {
		first, last := hoursOf(&open[i], start, hours)
		if first = max(first, next); first < last {
			spans = append(spans, hourSpan{first, last})
		}
		next = max(next, last)
	}
	known[&open[0]] = spans
	return spans
}

// hoursOf are the hours from start on in which a window is open; last is not included.
func hoursOf(o *window.Opening, start time.Time, hours int) (first, last int) {
	first = max(0, int(o.Opens.Sub(start)/time.Hour))
	if o.Closes.IsZero() || o.Closes.Sub(start) >= time.Duration(hours)*time.Hour {
		return first, hours
	}
	return first, int((o.Closes.Sub(start) + time.Hour - 1) / time.Hour)
}

func (g *StripGroup) merge(other *StripGroup) {
	g.Members, g.Always = g.Members+other.Members, g.Always+other.Always
	for hour, n := range other.Open {
		g.Open[hour] += n
	}
}

// order puts groups in order by name, the smallest of too many in one behind them.
func (s *Strip) order() {
	if len(s.Groups) > overview.MaxGroups {
		slices.SortFunc(s.Groups, func(a, b StripGroup) int { return cmp.Or(b.Members-a.Members, strings.Compare(a.Name, b.Name)) })
		other := StripGroup{Name: "other", Rest: len(s.Groups) - overview.MaxGroups, Open: make([]int, 24*s.Days)}
		for i := overview.MaxGroups; i < len(s.Groups); i++ {
			other.merge(&s.Groups[i])
		}
		s.Groups = append(s.Groups[:overview.MaxGroups], other)
	}
	slices.SortFunc(s.Groups, func(a, b StripGroup) int { return cmp.Or(a.Rest-b.Rest, strings.Compare(a.Name, b.Name)) })
}
