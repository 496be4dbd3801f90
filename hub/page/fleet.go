package page

import (
	"cmp"

	"flotilla/core/overview"
	"flotilla/core/picture"
)

// fleetScreen says what is wrong, and where.
var fleetScreen = &screen{Name: "Overview", Home: "/", Key: "f", patterns: []string{"/{$}"}, draw: drawFleet}

// firstProblems is how many problems are shown before the others are to be opened.
const firstProblems = 12

func drawFleet(v *visit) (*drawing, error) {
	by, members, status := cmp.Or(v.query("by"), "region"), v.members(), &v.fleet.Status
	groups := overview.Groups(members, by)
	first := min(len(status.Problems), firstProblems)
	return &drawing{
		Title: "Fleet " + v.page.options.Fleet,
		Parts: []part{
			{"summary", "summary", map[string]any{"Members": len(members), "States": overview.MemberTallies(members), "Fleet": v.fleet}},
			{"problems", "problems", map[string]any{"Frozen": status.Frozen, "First": status.Problems[:first], "Rest": status.Problems[first:]}},
			{"groups", "groups", map[string]any{"By": by, "Groups": picture.Figures(groups), "Choices": overview.Groupings(members)}},
		},
		Picture: "groups",
		Table:   made(func() *overview.Table { return overview.GroupTable(by, groups) }),
	}, nil
}
