package hub

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/session"
)

// Status is what status -o json prints (docs/json.md).
type Status struct {
	api.FleetStatus
	// Groups are there when members were to be grouped.
	Groups []overview.Group `json:"groups,omitempty"`
}

// shownNotWell is how many members that are not well a line names.
const shownNotWell = 5

// groups are the members of the fleet by what people ask for.
func (a commands) groups(ctx context.Context, by string) ([]overview.Group, error) {
	var fleet overview.Fleet
	if err := a.Call(ctx, api.VerbFleet, struct{}{}, &fleet); err != nil {
		return nil, err
	}
	return overview.Groups(overview.Filter(fleet.Members, overview.Query{}), by), nil
}

// printGroups is a line a group: how many members are in which state, and the first that are not well.
func (a commands) printGroups(by string, groups []overview.Group) error {
	states := []api.MemberState{api.MemberReady, api.MemberNotReady, api.MemberUnknown, api.MemberJoining, api.MemberLeaving}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 8, 3, ' ', 0)
	session.Say(w, "\n%s\tMEMBERS", strings.ToUpper(strings.TrimPrefix(by, "label:")))
	for _, state := range states {
		session.Say(w, "\t%s", strings.ToUpper(string(state)))
	}
	session.Say(w, "\tNOT WELL\n")
	for i := range groups {
		g := &groups[i]
		session.Say(w, "%s\t%d", groupName(g), g.Members)
		for _, state := range states {
			session.Say(w, "\t%s", session.OrDash(strings.TrimPrefix(strconv.Itoa(g.States[state]), "0")))
		}
		session.Say(w, "\t%s\n", notWell(g))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	a.Printf("%s", text.String())
	return nil
}

func groupName(g *overview.Group) string {
	if g.Rest > 0 {
		return phrase.Count(g.Rest, "other")
	}
	return session.OrDash(g.Name)
}

// notWell names the first members that are not well, the worst first, each with its sign.
func notWell(g *overview.Group) string {
	names := make([]string, 0, shownNotWell)
	for _, cell := range g.NotWell[:min(len(g.NotWell), shownNotWell)] {
		names = append(names, cell.Sign.Glyph()+" "+cell.Name)
	}
	return session.OrDash(phrase.First(names, len(g.NotWell)))
}
