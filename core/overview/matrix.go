package overview

import (
	"cmp"
	"slices"
	"strings"
)

// MatrixGroups is how many groups a matrix has at most before the rest is one more.
const MatrixGroups = 40

// Matrix is placements against groups of members.
type Matrix struct {
	By string `json:"by"`
	// Groups are those in which any of the placements has members, the worst first, then the larger one, then by name.
	Groups []MatrixGroup `json:"groups"`
	Rows   []MatrixRow   `json:"rows"`
}

// MatrixGroup is the head of a column.
type MatrixGroup struct {
	Name    string `json:"name"`
	Rest    int    `json:"rest,omitempty"` // of how many groups this one is what is left
	Members int    `json:"members"`        // that any of the placements has to do with
	Worst   Sign   `json:"worst"`
}

// MatrixRow is one placement.
type MatrixRow struct {
	Placement Placement `json:"placement"`
	// Cells are in the order of the groups.
	Cells []MatrixCell `json:"cells"`
	// NotPicked are the filters by which members were not picked, the most frequent first; NotPickedTotal counts all members.
	NotPicked      []Count `json:"notPicked,omitempty"`
	NotPickedTotal int     `json:"notPickedTotal"`
}

// MatrixCell is how a placement does in a group. Its zero value is that of one that has nothing to do with it.
type MatrixCell struct {
	// Picked counts the members it goes to, Available those of them on which it is as it is wanted.
	Picked    int            `json:"picked"`
	Available int            `json:"available"`
	States    map[string]int `json:"states,omitempty"` // by Entry constant
	Worst     Sign           `json:"worst"`
}

// MatrixOf draws placements, of which cells tells as much as was asked for, against members by region (also where by is
// empty) or as Groups has it. Placements that cells does not tell of have empty cells; members that it names and that are
// none any more go by the empty value.
func MatrixOf(placements []Placement, cells *Cells, members []Member, by string) Matrix {
	by = cmp.Or(by, "region")
	m := Matrix{By: by}
	groups := newMatrixGroups(groupsOf(cells.Members, members, by))
	told := make(map[string]*CellsOfOne, len(cells.Placements))
	for i := range cells.Placements {
		told[cells.Placements[i].Key] = &cells.Placements[i]
	}
	counted := make([][]MatrixCell, len(placements))
	for i := range placements {
		row := MatrixRow{Placement: placements[i]}
		counted[i] = make([]MatrixCell, len(groups.heads))
		if one := told[placements[i].Key]; one != nil {
			groups.count(one, counted[i])
			row.NotPicked = Counts(one.Verdicts)
			for _, n := range one.Verdicts {
				row.NotPickedTotal += n
			}
		}
		m.Rows = append(m.Rows, row)
	}
	order := groups.order()
	m.Groups = groups.shown(order)
	for i := range m.Rows {
		m.Rows[i].Cells = columns(counted[i], order)
	}
	return m
}

// matrixGroups are the groups of a matrix, in no order.
type matrixGroups struct {
	heads []MatrixGroup
	of    []int  // the group of each member
	seen  []bool // that a placement has to do with the member
}

func newMatrixGroups(names []string) *matrixGroups {
	g := &matrixGroups{of: make([]int, len(names)), seen: make([]bool, len(names))}
	known := map[string]int{}
	for i, name := range names {
		place, found := known[name]
		if !found {
			place = len(g.heads)
			known[name] = place
			g.heads = append(g.heads, MatrixGroup{Name: name})
		}
		g.of[i] = place
	}
	return g
}

// count counts the members of a placement into a cell a group.
func (g *matrixGroups) count(one *CellsOfOne, into []MatrixCell) {
	tallies := make([][len(states)]int, len(g.heads))
	for i := range min(len(g.of), len(one.States)) {
		place := places[one.States[i]]
		if place == 0 {
			continue
		}
		tallies[g.of[i]][place-1]++
		if !g.seen[i] {
			g.seen[i] = true
			g.heads[g.of[i]].Members++
		}
	}
	for k := range into {
		for i, n := range tallies[k] {
			into[k].add(states[i].state, n)
		}
		g.heads[k].Worst = max(g.heads[k].Worst, into[k].Worst)
	}
}

func (c *MatrixCell) add(state string, n int) {
	if n == 0 {
		return
	}
	if c.States == nil {
		c.States = map[string]int{}
	}
	c.States[state] += n
	sign := SignOfEntry(state)
	c.Worst = max(c.Worst, sign)
	if picked(state) {
		c.Picked += n
	}
	if sign == Well {
		c.Available += n
	}
}

// order are the places of the groups that any placement has to do with, the worst first.
func (g *matrixGroups) order() []int {
	var order []int
	for k := range g.heads {
		if g.heads[k].Members > 0 {
			order = append(order, k)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &g.heads[i], &g.heads[j]
		return cmp.Or(cmp.Compare(b.Worst, a.Worst), cmp.Compare(b.Members, a.Members), strings.Compare(a.Name, b.Name))
	})
	return order
}

// shown are the heads in an order, those beyond the last in one.
func (g *matrixGroups) shown(order []int) []MatrixGroup {
	heads := []MatrixGroup{}
	for _, k := range order[:min(len(order), MatrixGroups)] {
		heads = append(heads, g.heads[k])
	}
	if len(order) <= MatrixGroups {
		return heads
	}
	other := MatrixGroup{Name: "other", Rest: len(order) - MatrixGroups}
	for _, k := range order[MatrixGroups:] {
		other.Members += g.heads[k].Members
		other.Worst = max(other.Worst, g.heads[k].Worst)
	}
	return append(heads, other)
}

// columns are the cells of a row in an order, those beyond the last in one.
func columns(counted []MatrixCell, order []int) []MatrixCell {
	cells := make([]MatrixCell, min(len(order), MatrixGroups+1))
	for i, k := range order {
		if i < MatrixGroups {
			cells[i] = counted[k]
			continue
		}
		for state, n := range counted[k].States {
			cells[MatrixGroups].add(state, n)
		}
	}
	return cells
}

// groupsOf is the group of each of the names.
func groupsOf(names []string, members []Member, by string) []string {
	groups := make([]string, len(names))
	for i, name := range names {
		at, found := slices.BinarySearchFunc(members, name, func(m Member, name string) int { return strings.Compare(m.Name, name) })
		if found {
			groups[i] = members[at].value(by)
		}
	}
	return groups
}
