package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/strict"
	"flotilla/core/version"
)

// sorts are what members may be sorted by.
var sorts = []string{"name", "state", "since", "lastSeen", "region", "zone", "version", "nodes", "placements", "troubled", "created"}

// Choose are the members that a query leaves, in the order of one of sorts, of names where it is empty and with a - before it the
// other way round; those of a group of by beside each other where it is not empty. With faults there are none.
func Choose(members []Member, query, sort, by string) ([]*Member, strict.Faults) {
	q, faults := ParseQuery(query)
	chosen := Filter(members, q)
	sort, desc := strings.CutPrefix(cmp.Or(sort, "name"), "-")
	if fault := Sort(chosen, sort, desc); fault != nil {
		faults = append(faults, *fault)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if by != "" {
		Gather(chosen, by)
	}
	return chosen, nil
}

// Sort orders members in place by one of sorts: name, state, and so on, the worst or the most last, desc the other way round; equals stay by
// name. The fault says what else was found.
func Sort(members []*Member, by string, desc bool) *strict.Fault {
	key := sortKey(by)
	if key == nil {
		return &strict.Fault{Path: "sort", Found: fmt.Sprintf("%q", by), Expected: "one of " + strings.Join(sorts, ", ")}
	}
	rows := make([]sortRow, len(members))
	for i, m := range members {
		rows[i].member = m
		rows[i].number, rows[i].text = key(m)
	}
	way := 1
	if desc {
		way = -1
	}
	slices.SortFunc(rows, func(a, b sortRow) int {
		if c := cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.text, b.text)); c != 0 {
			return way * c
		}
		return strings.Compare(a.member.Name, b.member.Name)
	})
	for i := range rows {
		members[i] = rows[i].member
	}
	return nil
}

// sortRow is a member with what it is sorted by: a number, then a text.
type sortRow struct {
	number int64
	text   string
	member *Member
}

// sortKey is what members are sorted by; nil for what is none of sorts.
func sortKey(by string) func(*Member) (int64, string) {
	number := func(of func(*Member) int64) func(*Member) (int64, string) {
		return func(m *Member) (int64, string) { return of(m), "" }
	}
	switch by {
	case "name", "region", "zone":
		return func(m *Member) (int64, string) { return 0, m.value(by) }
	case "state":
		return func(m *Member) (int64, string) { return int64(m.Sign()), string(m.Shown()) }
	case "version":
		return versionKey(map[string]int64{})
	case "nodes":
		return number(func(m *Member) int64 { return int64(m.Nodes) })
	case "placements":
		return number(func(m *Member) int64 { return int64(m.Placements) })
	case "troubled":
		return number(func(m *Member) int64 { return int64(m.Troubled) })
	case "since":
		return number(func(m *Member) int64 { return m.Since.Unix() })
	case "lastSeen":
		return number(func(m *Member) int64 { return m.LastSeen.Unix() })
	case "created":
		return number(func(m *Member) int64 { return m.Created.Unix() })
	}
	return nil
}

// versionKey reads each version once; what is none comes before all others.
func versionKey(known map[string]int64) func(*Member) (int64, string) {
	return func(m *Member) (int64, string) {
		n, seen := known[m.Version]
		if !seen {
			v, _ := version.Parse(m.Version)
			n = int64(v.Major)<<40 | int64(v.Minor)<<20 | int64(v.Patch)
			known[m.Version] = n
		}
		return n, m.Version
	}
}

// Window is the part of rows that begins at from and holds at most count, both brought within what there is.
func Window[T any](rows []T, from, count int) []T {
	from = max(0, min(from, len(rows)))
	return rows[from : from+max(0, min(count, len(rows)-from))]
}
