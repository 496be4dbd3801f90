package picture

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/overview"
)

// grouped is a group with so many members of each sign.
func grouped(well, bad, away int) overview.Group {
	var members []overview.Member
	for i := range well + bad + away {
		state := api.MemberReady
		if i < bad {
			state = api.MemberNotReady
		} else if i < bad+away {
			state = api.MemberUnknown
		}
		members = append(members, overview.Member{Name: fmt.Sprintf("m%03d", i), State: state, Region: "r"})
	}
	return overview.Groups(overview.Filter(members, overview.Query{}), "region")[0]
}

var rectangle = regexp.MustCompile(`M(\d+) (\d+)h(\d+)v(\d+)h-(\d+)z`)

// paint colours the cells of a path.
func paint(t *testing.T, cells map[[2]int]string, path, colour string) {
	t.Helper()
	require.Empty(t, rectangle.ReplaceAllString(path, ""))
	for _, r := range rectangle.FindAllStringSubmatch(path, -1) {
		var n [5]int
		for i := range n {
			n[i], _ = strconv.Atoi(r[i+1])
		}
		require.Equal(t, n[2], n[4])
		for x := range n[2] {
			for y := range n[3] {
				at := [2]int{n[0] + x, n[1] + y}
				require.Empty(t, cells[at], "two colours at %v", at)
				cells[at] = colour
			}
		}
	}
}

func TestGridsDrawEachMemberOnce(t *testing.T) {
	for _, columns := range []int{1, 2, 7, 100} {
		for _, n := range [][3]int{{0, 1, 0}, {1, 0, 0}, {7, 7, 7}, {13, 0, 2}, {100, 3, 11}, {50, 1, 0}, {2, 20, 30}} {
			g := grouped(n[0], n[1], n[2])
			grid := gridOf(&g, columns)
			cells := map[[2]int]string{}
			paint(t, cells, grid.Well, "Well")
			for _, p := range grid.Paths {
				paint(t, cells, p.Path, p.Sign.String())
			}
			require.Len(t, cells, g.Members)
			for i := range g.Members {
				at := [2]int{i % columns, i / columns}
				want := "Well"
				if i < len(g.NotWell) {
					want = g.NotWell[i].Sign.String()
				}
				require.Equal(t, want, cells[at], "%v in %d columns", n, columns)
			}
			require.Equal(t, (g.Members+columns-1)/columns, grid.Rows)
		}
	}
	g := grouped(8, 1, 2)
	require.Equal(t, Grid{Columns: 4, Rows: 3, Well: "M3 0h1v1h-1zM0 1h4v1h-4zM0 2h3v1h-3z", Paths: []GridPath{
		{overview.Away, 0, 2, "M0 0h2v1h-2z"}, {overview.Bad, 2, 3, "M2 0h1v1h-1z"},
	}}, gridOf(&g, 4))
}

func TestFiguresMayBeCompared(t *testing.T) {
	figures := Figures([]overview.Group{grouped(300, 2, 0), grouped(3, 1, 0)})
	require.Equal(t, []int{30, 30}, []int{figures[0].Grid.Columns, figures[1].Grid.Columns}, "cells of one size")
	require.Equal(t, []int{240, 88, 240, 8}, []int{figures[0].Width, figures[0].Height, figures[1].Width, figures[1].Height})
}
