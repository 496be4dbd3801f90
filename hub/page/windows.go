package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/phrase"
	"flotilla/core/picture"
)

// windowsScreen says when what may be upgraded.
var windowsScreen = &screen{Name: "Windows", Home: "/windows", Key: "w", patterns: []string{"/windows"}, draw: drawWindows}

const (
	usualDays = 14
	mostDays  = 62
)

// almanac reads when members may be upgraded.
func (p *Page) almanac(ctx context.Context, _ string) (*picture.Calendar, error) {
	maintained := &picture.Maintained{}
	if err := p.survey.ask(ctx, askWithin, api.VerbWindows, struct{}{}, maintained); err != nil {
		return nil, err
	}
	return picture.NewCalendar(maintained, time.LoadLocation), nil
}

func drawWindows(v *visit) (*drawing, error) {
	by, kind := cmp.Or(v.query("by"), "region"), cmp.Or(v.query("for"), picture.ForUpgrades)
	days, err := strconv.Atoi(cmp.Or(v.query("days"), strconv.Itoa(usualDays)))
	query, faults := overview.ParseQuery(v.query("q"))
	switch {
	case err != nil || days < 1 || days > mostDays:
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("days: found %s, expected 1 to %d", phrase.Quoted(v.query("days")), mostDays)}
	case !slices.Contains(picture.WindowKinds(), kind):
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("for: found %s, expected one of %s", phrase.Quoted(kind), strings.Join(picture.WindowKinds(), ", "))}
	case len(faults) > 0:
		return nil, &api.Failure{Code: api.CodeInvalid, Message: "the query cannot be read", Faults: faults}
	}
	known := v.page.windows.of(v.ctx, "")
	ask := map[string]any{"By": by, "For": kind, "Days": days, "Kinds": picture.WindowKinds(), "Choices": overview.Groupings(v.members()), "Known": &known, "Frozen": v.fleet.Status.Frozen}
	d := &drawing{Title: "Maintenance windows", Parts: []part{{"windows", "windows", ask}}}
	if known.Value == nil {
		return d, nil
	}
	members := slices.DeleteFunc(overview.Filter(v.fleet.Members, query), func(m *overview.Member) bool { return !m.Admitted })
	strip, rows := known.Value.Strip(members, by, kind, v.now(), days), known.Value.Rows(members)
	here, shown := windowOf(v, rows, memberWindow)
	known.Value.Tell(here, v.now())
	d.Parts = append(d.Parts, part{"strip", "strip", strip.Chart()}, part{"rows", "window-rows", map[string]any{"Rows": here, "Shown": shown}})
	d.Picture = "strip"
	d.Table = func(v *visit, _ string) (*overview.Table, error) {
		return known.Value.Table(&strip, rows, v.now()), nil
	}
	return d, nil
}
