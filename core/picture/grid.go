package picture

import (
	"fmt"
	"strings"

	"flotilla/core/overview"
)

// Grid is how the members of a group are drawn: cells of size 1, row by row, those that are not well first, in the order
// of overview.Group.NotWell, then the others.
type Grid struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
	// Well is the path of all cells that are well, empty without any; it is one outline.
	Well string `json:"well,omitempty"`
	// Paths are those of the others, one a sign, the worst first.
	Paths []GridPath `json:"paths,omitempty"`
}

// GridPath is the path of all cells of a sign: From and To count them as overview.Group.NotWell does, To not included.
type GridPath struct {
	Sign overview.Sign `json:"sign"`
	From int           `json:"from"`
	To   int           `json:"to"`
	Path string        `json:"path"`
}

// gridOf draws a group in so many columns. Paths are those of SVG, in cells.
func gridOf(g *overview.Group, columns int) Grid {
	grid := Grid{Columns: columns, Rows: (g.Members + columns - 1) / columns}
	for from := 0; from < len(g.NotWell); {
		to := from
		for to < len(g.NotWell) && g.NotWell[to].Sign == g.NotWell[from].Sign {
			to++
		}
		grid.Paths = append(grid.Paths, GridPath{g.NotWell[from].Sign, from, to, outline(from, to, columns)})
		from = to
	}
	grid.Well = outline(len(g.NotWell), g.Members, columns)
	return grid
}

// Figure is a group with the grid of its members. Sizes are in pixels.
type Figure struct {
	*overview.Group
	Grid Grid
	// Width and Height are how large the grid is.
	Width, Height int
}

// gridWidth is how wide a grid is drawn.
const gridWidth = 240

// Figures draws groups with cells as large as the largest one leaves room for, so that areas may be compared.
func Figures(groups []overview.Group) []Figure {
	most := 0
	for i := range groups {
		most = max(most, groups[i].Members)
	}
	cell := 12
	for cell > 4 && most > (gridWidth/cell)*(120/cell) {
		cell -= 2
	}
	out := make([]Figure, len(groups))
	for i := range groups {
		grid := gridOf(&groups[i], gridWidth/cell)
		out[i] = Figure{&groups[i], grid, gridWidth, grid.Rows * cell}
	}
	return out
}

// outline is the path around cells from one to another, which is not included: of at most three rectangles, the part of
// a row, whole rows, and the part of another.
func outline(from, to, columns int) string {
	var b strings.Builder
	for from < to {
		column, row := from%columns, from/columns
		width, height := min(columns-column, to-from), 1
		if column == 0 && to-from > columns {
			width, height = columns, (to-from)/columns
		}
		fmt.Fprintf(&b, "M%d %dh%dv%dh-%dz", column, row, width, height, width)
		from += width * height
	}
	return b.String()
}
