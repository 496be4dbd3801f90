package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
)

// until asks again and again until check is content, and says what was wrong last when patience ends.
func (d *demo) until(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil { // not that it was interrupted
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %w", what, d.patience, last)
		case <-tick.C:
		}
	}
}

func (d *demo) placements(ctx context.Context) ([]api.Placement, error) {
	return list[api.Placement](ctx, d.fleet.Client, api.KindClusterResourcePlacement)
}

func (d *demo) placement(ctx context.Context, name string) (*api.Placement, error) {
	var p api.Placement
	request := api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: name}
	if err := bus.Request(ctx, d.fleet.Client, api.VerbGet, request, &p, bus.RequestOptions{}); err != nil {
		return nil, err
	}
	if p.Status == nil {
		return nil, fmt.Errorf("%s has no status yet", name)
	}
	return &p, nil
}

func list[T any](ctx context.Context, c *bus.Conn, kind string) ([]T, error) {
	var answer api.ListResponse
	if err := bus.Request(ctx, c, api.VerbList, api.ListRequest{Kind: kind}, &answer, bus.RequestOptions{}); err != nil {
		return nil, err
	}
	if answer.Continue != "" {
		return nil, fmt.Errorf("more than one page of %s", kind)
	}
	items := make([]T, len(answer.Items))
	for i, item := range answer.Items {
		if err := json.Unmarshal(item, &items[i]); err != nil {
			return nil, fmt.Errorf("reading a %s: %w", kind, err)
		}
	}
	return items, nil
}

// progress prints the counts of a placement each time they change.
type progress struct{ last map[string]string }

func (p *progress) show(placement *api.Placement) {
	if p.last == nil {
		p.last = map[string]string{}
	}
	c := placement.Status.Counts
	line := fmt.Sprintf("picked %d, on the newest content %d, applied %d, available %d, failed %d", c.Picked, c.Current, c.Applied, c.Available, c.Failed)
	if p.last[placement.Name] != line {
		p.last[placement.Name] = line
		fmt.Printf("  %-32s %s\n", placement.Name, line)
	}
}

// converged says what a placement still lacks: it has when every picked member runs the newest content
// and is available. How many it should have picked is for the caller to say.
func converged(p *api.Placement) error {
	if p.Status == nil || p.Status.ObservedGeneration != p.Generation {
		return fmt.Errorf("%s: the status is not of generation %d yet", p.Name, p.Generation)
	}
	c := p.Status.Counts
	if c.Picked == 0 || c.Current != c.Picked || c.Available != c.Picked || c.Failed > 0 {
		return fmt.Errorf("%s: %d of %d picked members run the newest content, %d are available, %d failed",
			p.Name, c.Current, c.Picked, c.Available, c.Failed)
	}
	return nil
}

// applied is how many placements the examples have.
const applied = 10

// allConverged waits for every placement.
func (d *demo) allConverged(ctx context.Context) error {
	return d.until(ctx, "every placement converges", func(ctx context.Context) error {
		all, err := d.placements(ctx)
		if err != nil {
			return err
		}
		if len(all) != applied {
			return fmt.Errorf("%d placements, expected %d", len(all), applied)
		}
		var faults []error
		for i := range all {
			if all[i].Status != nil {
				d.progress.show(&all[i])
			}
			faults = append(faults, converged(&all[i]))
		}
		return errors.Join(faults...)
	})
}
