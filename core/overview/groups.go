package overview

import (
	"cmp"
	"slices"
	"strings"

	"flotilla/core/api"
)

// MaxGroups is how many groups there are at most before the rest is one more.
const MaxGroups = 60

// Group is the members that have something in common.
type Group struct {
	// Name is the value that they have in common, empty for those that have none.
	Name string `json:"name"`
	// Rest is of how many groups this one is what is left of, 0 for a group of its own.
	Rest    int                     `json:"rest,omitempty"`
	Members int                     `json:"members"`
	States  map[api.MemberState]int `json:"states"`
	Signs   BySign                  `json:"signs"`
	Worst   Sign                    `json:"worst"`
	// NotWell are the members that are not well, the worst first, then by name.
	NotWell []Cell `json:"notWell,omitempty"`
}

// Cell is one member in a grid.
type Cell struct {
	Name  string          `json:"name"`
	State api.MemberState `json:"state"`
	Sign  Sign            `json:"sign"`
}

// Groups gathers members by region (also where by is empty), zone, version, state, sign or any label, with or without
// "label:" before its key. The worst group comes first, then the larger one, then by name; of more than MaxGroups one more
// is what is left.
func Groups(members []*Member, by string) []Group {
	by = cmp.Or(by, "region")
	found := map[string]*Group{}
	for _, m := range members {
		name := m.value(by)
		g := found[name]
		if g == nil {
			g = &Group{Name: name, States: map[api.MemberState]int{}}
			found[name] = g
		}
		g.add(m)
	}
	groups := make([]Group, 0, len(found))
	for _, g := range found {
		g.Worst = g.Signs.Worst()
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Worst, a.Worst), cmp.Compare(b.Members, a.Members), strings.Compare(a.Name, b.Name))
	})
	if len(groups) > MaxGroups {
		groups = append(groups[:MaxGroups:MaxGroups], rest(groups[MaxGroups:]))
	}
	for i := range groups {
		groups[i].order()
	}
	return groups
}

func (g *Group) add(m *Member) {
	sign := m.Sign()
	g.Members++
	g.States[m.Shown()]++
	*g.Signs.Of(sign)++
	if sign != Well {
		g.NotWell = append(g.NotWell, Cell{m.Name, m.Shown(), sign})
	}
}

func (g *Group) order() {
	WorstFirst(g.NotWell, func(c *Cell) (Sign, string) { return c.Sign, c.Name })
}

// rest is what is left of groups, in one.
func rest(groups []Group) Group {
	left := Group{Name: "other", Rest: len(groups), States: map[api.MemberState]int{}}
	for i := range groups {
		g := &groups[i]
		left.Members += g.Members
		for state, n := range g.States {
			left.States[state] += n
		}
		for _, s := range Signs() {
			*left.Signs.Of(s) += *g.Signs.Of(s)
		}
		left.NotWell = append(left.NotWell, g.NotWell...)
	}
	left.Worst = left.Signs.Worst()
	return left
}
