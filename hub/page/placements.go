package page

import (
	"encoding/json"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/phrase"
)

// placementsScreen says of placements where they are, against groups of members.
var placementsScreen = &screen{Name: "Placements", Home: "/placements", Key: "c", patterns: []string{"/placements"}, draw: drawPlacements}

// mostEntries is how many entries of members an export of placements may hold.
const mostEntries = 50_000

func drawPlacements(v *visit) (*drawing, error) {
	placements := overview.WorstPlacements(v.fleet.Placements, v.query("q"))
	rows, shown := windowOf(v, placements, api.MostCells)
	asked := api.CellsRequest{Placements: []string{}}
	for i := range rows {
		asked.Placements = append(asked.Placements, rows[i].Key)
	}
	var cells overview.Cells
	if err := v.ask(api.VerbCells, &asked, &cells); err != nil {
		return nil, err
	}
	matrix := overview.MatrixOf(rows, &cells, v.fleet.Members, v.query("by"))
	list := map[string]any{"Shown": shown, "By": matrix.By, "Groups": matrix.Groups, "Rows": matrix.Rows, "Choices": overview.Groupings(v.members())}
	return &drawing{
		Title: "Placements",
		Parts: []part{{"placements-find", "placements-find", list}, {"placements", "placements", list}},
		Table: func(v *visit, form string) (*overview.Table, error) { return placementTable(v, form, placements) },
	}, nil
}

// placementTable holds what the command line reads of placements, for .csv without the entries of members.
func placementTable(v *visit, form string, placements []overview.Placement) (*overview.Table, error) {
	entries, keys := 0, make([]string, len(placements))
	for i := range placements {
		entries, keys[i] = entries+placements[i].Counts.Picked, placements[i].Key
	}
	if form == "json" && entries > mostEntries {
		return nil, &api.Failure{
			Code: api.CodeTooLarge, Next: "flotilla get placements -A -o json",
			Message: fmt.Sprintf("found %s entries of members, expected at most %s: look for fewer placements", phrase.Digits(entries), phrase.Digits(mostEntries)),
		}
	}
	var bodies []json.RawMessage
	for _, kind := range []string{api.KindClusterResourcePlacement, api.KindResourcePlacement} {
		found, err := v.list(kind, form == "csv")
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, found...)
	}
	return overview.PlacementTable("placements", bodies, keys)
}
