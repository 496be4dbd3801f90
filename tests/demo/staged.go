package main

import (
	"context"
	"fmt"
	"path/filepath"

	"flotilla/bus"
	"flotilla/core/api"
)

// The staged run of configs/examples/staged.
const (
	bookshop    = "bookshop"
	bookshopRun = "bookshop-autumn"
)

func (d *demo) staged(name string) string {
	return filepath.Join(d.examples(), "staged", name+".yaml")
}

// bringTest brings a placement of strategy External to the test members, where the run waits for somebody.
func (d *demo) bringTest(ctx context.Context) error {
	for _, name := range []string{"placement", "strategy", "run"} {
		if err := d.flotilla(ctx, "apply", "-f", d.staged(name)); err != nil {
			return err
		}
	}
	err := d.until(ctx, "the test members have it, and the gate before production waits", func(ctx context.Context) error {
		return d.bookshop(ctx, api.StatePending, 3)
	})
	if err != nil {
		return err
	}
	return d.flotilla(ctx, "get", "csur")
}

// bringProduction opens the gate: production follows, half of it at a time.
func (d *demo) bringProduction(ctx context.Context) error {
	if err := d.flotilla(ctx, "run", "approve", bookshopRun); err != nil {
		return err
	}
	err := d.until(ctx, "every member has it", func(ctx context.Context) error { return d.bookshop(ctx, api.StateCompleted, 8) })
	if err != nil {
		return err
	}
	if err := d.flotilla(ctx, "run", "status", bookshopRun); err != nil {
		return err
	}
	return d.flotilla(ctx, "rollout", "status", "placement/"+bookshop)
}

// bookshop wants the run to be in a state, with so many members that are done.
func (d *demo) bookshop(ctx context.Context, state api.UpdateState, done int) error {
	run, err := d.stagedRun(ctx, bookshopRun)
	if err == nil && (run.Status.State != state || run.Finished != done) {
		err = fmt.Errorf("run %s is %+v, expected %s with %d members", bookshopRun, run, state, done)
	}
	return err
}

// runIs wants a staged run to be in a state.
func (d *demo) runIs(ctx context.Context, name string, state api.UpdateState) error {
	run, err := d.stagedRun(ctx, name)
	if err == nil && run.Status.State != state {
		err = fmt.Errorf("run %s is %s, expected %s", name, run.Status.State, state)
	}
	return err
}

func (d *demo) stagedRun(ctx context.Context, name string) (*api.StagedUpdateRunStatus, error) {
	var run api.StagedUpdateRun
	request := api.GetRequest{Kind: api.KindClusterStagedUpdateRun, Name: name}
	if err := bus.Request(ctx, d.fleet.Client, api.VerbGet, request, &run, bus.RequestOptions{}); err != nil {
		return nil, err
	}
	if run.Status == nil {
		return nil, fmt.Errorf("run %s has no status yet", name)
	}
	return run.Status, nil
}
