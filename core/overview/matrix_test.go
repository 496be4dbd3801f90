package overview

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func cellsOf(t testing.TB, keys []string, known ...[]Standing) *Cells {
	c := &Cells{Placements: make([]CellsOfOne, len(keys))}
	for i, key := range keys {
		c.Placements[i].Key = key
	}
	require.NoError(t, c.Fill(known))
	return c
}

// Every state has a letter of its own, and is read back.
func TestCellsHoldStates(t *testing.T) {
	var all []Standing
	for state := range letters {
		all = append(all, Standing{"m-" + state, state})
	}
	c := cellsOf(t, []string{"web", "api", "none"}, all, []Standing{{"a", api.EntryFailed}}, nil)
	require.Len(t, c.Members, len(letters)+1)
	require.Len(t, c.Placements[0].States, len(letters)+1)
	require.Equal(t, "F", c.Placements[1].States)
	require.Empty(t, c.Placements[2].States)
	for i, member := range c.Members {
		if member == "a" {
			require.Empty(t, c.Placements[0].EntryOf(i))
			require.Equal(t, api.EntryFailed, c.Placements[1].EntryOf(i))
			continue
		}
		require.Equal(t, member, "m-"+c.Placements[0].EntryOf(i))
		require.Empty(t, c.Placements[1].EntryOf(i))
	}
	require.ErrorContains(t, (&Cells{Placements: make([]CellsOfOne, 1)}).Fill([][]Standing{{{"a", "Asleep"}}}), `"Asleep"`)
}

func TestMatricesCountWhereMembersStand(t *testing.T) {
	members := []Member{{Name: "a", Region: "eu"}, {Name: "b", Region: "eu"}, {Name: "c", Region: "us"}}
	cells := cellsOf(t, []string{"api", "web"},
		[]Standing{{"a", api.EntryAvailable}, {"b", api.EntryWithdrawing}},
		[]Standing{{"a", api.EntryFailed}, {"b", api.EntryAvailable}, {"c", api.EntryKept}, {"gone", api.EntryUnknown}})
	cells.Placements[1].Verdicts = map[string]int{"rank": 6, "taint": 2, "affinity": 6}
	m := MatrixOf([]Placement{{Key: "web"}, {Key: "api"}, {Key: "new"}}, cells, members, "")
	require.Equal(t, []MatrixGroup{{"", 0, 1, Away}, {"eu", 0, 2, Bad}, {"us", 0, 1, Waiting}}, m.Groups)
	require.Equal(t, []MatrixCell{
		{Picked: 1, States: map[string]int{api.EntryUnknown: 1}, Worst: Away},
		{Picked: 2, Available: 1, States: map[string]int{api.EntryFailed: 1, api.EntryAvailable: 1}, Worst: Bad},
		{States: map[string]int{api.EntryKept: 1}, Worst: Waiting},
	}, m.Rows[0].Cells)
	require.Equal(t, []Count{{"affinity", 6}, {"rank", 6}, {"taint", 2}}, m.Rows[0].NotPicked)
	require.Equal(t, 14, m.Rows[0].NotPickedTotal)
	require.Equal(t, MatrixCell{Picked: 1, Available: 1, States: map[string]int{api.EntryAvailable: 1, api.EntryWithdrawing: 1}, Worst: Moving}, m.Rows[1].Cells[1])
	require.Equal(t, make([]MatrixCell, 3), m.Rows[2].Cells)
}

func TestMatricesPutWhatIsLeftInOneGroup(t *testing.T) {
	var members []Member
	var known []Standing
	for i := range MatrixGroups + 3 {
		name := fmt.Sprintf("m%02d", i)
		members = append(members, Member{Name: name, Zone: name})
		known = append(known, Standing{name, api.EntryAvailable})
	}
	known[MatrixGroups+2].State = api.EntryFailed
	m := MatrixOf([]Placement{{Key: "web"}}, cellsOf(t, []string{"web"}, known), members, "zone")
	require.Len(t, m.Groups, MatrixGroups+1)
	require.Equal(t, "m42", m.Groups[0].Name)
	require.Equal(t, MatrixGroup{"other", 3, 3, Well}, m.Groups[MatrixGroups])
	require.Equal(t, MatrixCell{Picked: 3, Available: 3, States: map[string]int{api.EntryAvailable: 3}}, m.Rows[0].Cells[MatrixGroups])
}
