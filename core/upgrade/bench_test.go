package upgrade_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// BenchmarkUpgrade measures one step of a run in full flight, a stage of whose members ends and is
// replaced, and the plan of a whole run. 1,000 members stand in 20 stages of 50 groups, 100 in 2.
func BenchmarkUpgrade(b *testing.B) {
	for _, members := range []int{100, 1000} {
		b.Run(fmt.Sprintf("Step/%d", members), func(b *testing.B) { benchStep(b, members) })
	}
	for _, members := range []int{100, 1000} {
		b.Run(fmt.Sprintf("Plan/%d", members), func(b *testing.B) { benchPlan(b, members) })
	}
}

// benchStep records the end of half a stage and lets the other half go on.
func benchStep(b *testing.B, members int) {
	run, view := thousand(b, members/50, 50)
	status, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(b, refusal)
	d, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(b, refusal)
	require.Len(b, d.Take, 50)
	view.Results = map[string]api.UpgradeResult{}
	for _, lock := range d.Take[:25] {
		view.Results[lock.Operation] = api.UpgradeResult{Operation: lock.Operation, Outcome: api.OutcomeSucceeded}
	}
	now := benchNow.Add(10 * time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		if got := upgrade.Step(run, &d.Status, view, now); got.Status.Finished != 25 || len(got.Release) != 25 {
			b.Fatalf("%d members finished, want 25", got.Status.Finished)
		}
	}
}

// benchPlan plans a run whose members all take different times, so that each of them is an instant.
func benchPlan(b *testing.B, members int) {
	run, view := thousand(b, members/50, 50)
	history := map[string]time.Duration{}
	for i, name := range view.Fleet.Names() {
		history[name] = 10*time.Minute + time.Duration(i*7%members)*time.Second
	}
	known := took(history)
	b.ReportAllocs()
	for b.Loop() {
		report := upgrade.Plan([]upgrade.PlannedRun{{Run: run}}, view, benchNow, upgrade.Assumptions{History: known})
		if got := report.Runs[0]; got.State != "Completed" || len(got.Members) != members {
			b.Fatalf("the plan ends %s with %d members", got.State, len(got.Members))
		}
	}
}
