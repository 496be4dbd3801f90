package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"flotilla/core/phrase"
)

// narrowValues is how many values a Narrowing has at most.
const narrowValues = 12

// Narrowing is one way to narrow members down, by a field or a label.
type Narrowing struct {
	Name   string
	Values []NarrowValue
	// More is how many more values there are.
	More int
}

// NarrowValue is a value and how many members have it. Query is the query with the term that asks for it, or without it
// where it has it, which On says.
type NarrowValue struct {
	Value   string
	Members int
	Query   string
	On      bool
}

// Narrow lists how members, which are those that a query leaves, may be narrowed down: by state, region, version and labels
// of few values.
func Narrow(query string, members []*Member) []Narrowing {
	found := FacetsOf(members)
	ways := []Narrowing{narrowing(query, "state", found.State), narrowing(query, "region", found.Region), narrowing(query, "version", found.Version)}
	for _, label := range found.Labels {
		if !slices.Contains(regionLabels, label.Key) {
			ways = append(ways, narrowing(query, label.Key, label.Values))
		}
	}
	return slices.DeleteFunc(ways, func(n Narrowing) bool { return len(n.Values) == 0 })
}

func narrowing(query, by string, counts []Count) Narrowing {
	n := Narrowing{Name: by, More: max(0, len(counts)-narrowValues)}
	for _, c := range counts[:min(len(counts), narrowValues)] {
		value := NarrowValue{Value: c.Value, Members: c.Members}
		value.Query, value.On = Toggle(query, Term(by, c.Value))
		n.Values = append(n.Values, value)
	}
	return n
}

// Term is the part of a query that asks for a value of one of Fields, or of the label of that key.
func Term(by, value string) string {
	if !slices.Contains(fields, by) {
		by = "label:" + strings.TrimPrefix(by, "label:")
	}
	if value == "" || strings.ContainsAny(value, " ,\"") {
		value = strconv.Quote(value)
	}
	return by + "=" + value
}

// Toggle is a query with a term, or without it where it has it, which on says.
func Toggle(query, term string) (toggled string, on bool) {
	if before, after, found := strings.Cut(" "+query+" ", " "+term+" "); found {
		return strings.TrimSpace(before + " " + after), true
	}
	return strings.TrimSpace(query + " " + term), false
}

// Span is which of how many rows are shown, From counted from 0; Size is how many are at most.
type Span struct{ From, Count, Size, Total int }

// SpanOf is the Window of rows that begins at from, which is brought within what there is.
func SpanOf[T any](rows []T, from, size int) ([]T, Span) {
	from = max(0, min(from, len(rows)-1))
	shown := Window(rows, from, size)
	return shown, Span{from, len(shown), size, len(rows)}
}

// String is "rows 81 to 160 of 10,000".
func (s Span) String() string {
	if s.Total == 0 {
		return "no rows"
	}
	return fmt.Sprintf("rows %s to %s of %s", phrase.Digits(s.From+1), phrase.Digits(s.From+s.Count), phrase.Digits(s.Total))
}

// Before is where the rows before begin, empty where there are none; After where those behind begin.
func (s Span) Before() string {
	if s.From == 0 {
		return ""
	}
	return strconv.Itoa(max(0, s.From-s.Size))
}

// After is where the rows behind begin, empty where there are none.
func (s Span) After() string {
	if next := s.From + s.Count; next < s.Total {
		return strconv.Itoa(next)
	}
	return ""
}

// Heading is a column of a table of members: Sort is what the table is sorted by when its head is followed, empty where that
// is by nothing; Sorted is how it is now, "ascending", "descending" or empty.
type Heading struct{ Name, Sort, Sorted string }

// headings are the columns of the command line; what is best looked at from its end is sorted so first.
var headings = []Heading{
	{"Name", "name", ""},
	{"State", "-state", ""},
	{"Age", "-created", ""},
	{"Version", "version", ""},
	{"Nodes", "-nodes", ""},
	{"CPU-Free", "", ""},
	{"Mem-Free", "", ""},
	{"Placed", "-placements", ""},
	{"Trouble", "-troubled", ""},
	{"Taints", "", ""},
	{"Agent", "", ""},
	{"Heartbeat", "lastSeen", ""},
	{"Credentials", "", ""},
	{"Labels", "", ""},
}

// Headings are the columns of members, sorted by one of Sorts, with a - before it the other way round.
func Headings(sort string) []Heading {
	out := slices.Clone(headings)
	by, desc := strings.CutPrefix(cmp.Or(sort, "name"), "-")
	for i := range out {
		if h := &out[i]; h.Sort != "" && strings.TrimPrefix(h.Sort, "-") == by {
			if h.Sort, h.Sorted = "-"+by, "ascending"; desc {
				h.Sort, h.Sorted = by, "descending"
			}
		}
	}
	return out
}
