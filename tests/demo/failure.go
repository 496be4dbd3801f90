package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// members wants so many members, all in one state.
func (d *demo) members(ctx context.Context, want int, state api.MemberState) error {
	all, err := list[api.MemberCluster](ctx, d.fleet.Client, api.KindMemberCluster)
	if err != nil {
		return err
	}
	if len(all) != want {
		return fmt.Errorf("%d members, expected %d", len(all), want)
	}
	for i := range all {
		if all[i].Status == nil || all[i].Status.State != state {
			return fmt.Errorf("member %s is not %s", all[i].Name, state)
		}
	}
	return nil
}

// fail makes one member refuse Deployments while a release is under way.
func (d *demo) fail(ctx context.Context) error {
	fmt.Printf("\n  member %s refuses Deployments from now on\n", failing)
	d.fleet.Agent(failing).Memory().SetFaults(faults.Faults{Fail: []string{"Deployment"}})
	if err := d.release(ctx, newVersion, badVersion); err != nil {
		return err
	}
	err := d.until(ctx, failing+" is reported as failed", func(ctx context.Context) error {
		placement, err := d.placement(ctx, rolling)
		if err != nil {
			return err
		}
		d.progress.show(placement)
		return d.onlyFailing(placement)
	})
	if err != nil {
		return err
	}
	return d.flotilla(ctx, "status")
}

// onlyFailing wants the failing member, and no other, to be reported with its object and reason.
func (d *demo) onlyFailing(p *api.Placement) error {
	if c := p.Status.Counts; c.Failed != 1 || c.Available != c.Picked-1 {
		return fmt.Errorf("%d failed and %d of %d available, expected 1 and %d", c.Failed, c.Available, c.Picked, c.Picked-1)
	}
	for _, s := range p.Status.PlacementStatuses {
		if s.ClusterName != failing || len(s.FailedPlacements) == 0 {
			continue
		}
		f := s.FailedPlacements[0]
		if f.Kind == storefront.Kind && strings.Contains(f.Condition.Message, "on request") {
			return nil
		}
		return fmt.Errorf("%s reports %s %s: %s", failing, f.Kind, f.Name, f.Condition.Message)
	}
	return fmt.Errorf("the status names no failed object of %s", failing)
}

func (d *demo) comeBack(ctx context.Context) error {
	if !d.neverHeal {
		fmt.Printf("\n  member %s is mended\n\n", failing)
		d.fleet.Agent(failing).Memory().SetFaults(faults.Faults{})
	}
	if err := d.allConverged(ctx); err != nil {
		return err
	}
	if err := d.runsEverywhere(ctx, badVersion); err != nil {
		return err
	}
	return d.flotilla(ctx, "events", "placement/"+rolling)
}

// pickedExactly wants a placement on these members and no other.
func (d *demo) pickedExactly(ctx context.Context, name string, want []string) error {
	p, err := d.placement(ctx, name)
	if err != nil {
		return err
	}
	var got []string
	for _, s := range p.Status.PlacementStatuses {
		if s.ClusterName != "" {
			got = append(got, s.ClusterName)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s is on %v, expected %v", name, got, want)
	}
	return nil
}

// remove deletes a placement and looks into its members.
func (d *demo) remove(ctx context.Context) error {
	if err := d.flotilla(ctx, "delete", "placement", fixed); err != nil {
		return err
	}
	return d.until(ctx, "the objects of "+fixed+" leave their members", func(ctx context.Context) error {
		all, err := d.placements(ctx)
		if err != nil {
			return err
		}
		if len(all) != 9 {
			return fmt.Errorf("%d placements are left, expected 9", len(all))
		}
		for _, name := range []string{"cluster1", "cluster2"} {
			for _, object := range d.fleet.Agent(name).Memory().Objects() {
				if object.GetNamespace() == "test-deployment" || object.GetName() == "test-deployment" {
					return fmt.Errorf("%s still has %s %s", name, object.GetKind(), object.GetName())
				}
			}
		}
		return nil
	})
}

// plan shows the plan of one file; it changes nothing.
func (d *demo) plan(ctx context.Context) error {
	return d.exits(ctx, session.ExitDifferent, "plan", "-f", d.examples()+"/004-pickn-affinity.yaml")
}
