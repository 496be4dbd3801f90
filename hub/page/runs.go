package page

import (
	"context"
	"slices"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/plan"
)

// runsScreen lists the runs of upgrades and of content.
var runsScreen = &screen{Name: "Runs", Home: "/runs", Key: "r", patterns: []string{"/runs"}, draw: drawRuns}

// allRuns in a request for a plan stands for every run that is active.
const allRuns = "*"

// foretold are plans of runs by their keys.
type foretold map[string]foretoldRun

// foretoldRun is the plan of a run, nil where there is none, and what keeps it from ending.
type foretoldRun struct {
	*plan.Run
	waits []string
}

// foresee plans a run as it stands, or all that are active.
func (p *Page) foresee(ctx context.Context, run string) (foretold, error) {
	var answer plan.Answer
	if err := p.survey.ask(ctx, askWithin, api.VerbPlan, api.PlanRequest{Runs: []string{run}}, &answer); err != nil {
		return nil, err
	}
	told := foretold{}
	for i := range answer.Runs {
		told[answer.Runs[i].Name] = foretoldRun{&answer.Runs[i], answer.RunDetails[i].WaitsFor}
	}
	return told, nil
}

func drawRuns(v *visit) (*drawing, error) {
	told := aside[foretold]{}
	if slices.ContainsFunc(v.fleet.Runs, func(r overview.Run) bool { return r.GoesOn() }) {
		told = v.page.foresight.of(v.ctx, allRuns)
	}
	runs, states := overview.FindRuns(v.fleet.Runs, v.query("q"), v.query("state"))
	all := make([]overview.RunAhead, len(runs))
	for i := range runs {
		all[i] = runs[i].Ahead(told.Value[runs[i].Key].Run)
	}
	rows, shown := windowOf(v, all, memberWindow)
	return &drawing{
		Title: "Update runs",
		Parts: []part{{"runs", "runs", map[string]any{"Runs": rows, "Shown": shown, "States": states, "Told": &told}}},
		Table: made(func() *overview.Table { return overview.RunTable(all) }),
	}, nil
}
