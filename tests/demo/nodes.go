package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/explain"
	"flotilla/hub/flotilla/cli/session"
)

// shrinking is the member whose pool has more nodes than its pods need.
const shrinking = "osaka"

// briskNodes makes disruptions quick, on members and hub.
func briskNodes(members []configs.Agent) configs.Disruption {
	for i := range members {
		n := &members[i].Nodes
		n.Interval, n.LeastDrain = configs.Duration(200*time.Millisecond), configs.Duration(200*time.Millisecond)
		n.Memory.LaunchTime, n.Memory.ReadyAfter, n.Memory.DeleteTime = n.Interval, n.Interval, n.Interval
	}
	quick := configs.DefaultHub().Disruption
	quick.Interval, quick.ValidationWait = configs.Duration(300*time.Millisecond), configs.Duration(2*time.Second)
	return quick
}

func (d *demo) nodes(name string) string {
	return filepath.Join(d.examples(), "nodes", name+".yaml")
}

// consolidate has the nodes removed that a member does not need. It begins with what was planned, and ends
// when every node that is left has a reason to stay.
func (d *demo) consolidate(ctx context.Context) error {
	for _, args := range [][]string{
		{"apply", "-f", d.nodes("catalog-east")}, {"get", "nodes", "-m", shrinking}, {"apply", "-f", d.nodes("pool-workers")},
	} {
		if err := d.flotilla(ctx, args...); err != nil {
			return err
		}
	}
	var planned *explain.MemberForecast
	err := d.until(ctx, "nodes of "+shrinking+" are planned to go", func(ctx context.Context) (err error) {
		if planned, err = d.foresee(ctx); err == nil && len(planned.Commands) == 0 {
			err = fmt.Errorf("nothing is planned, %q is waited for", planned.Stale)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := d.exits(ctx, session.ExitDifferent, "plan", "nodes", "-m", shrinking); err != nil {
		return err
	}
	before, err := d.listNodes(ctx)
	if err != nil {
		return err
	}
	if err := d.until(ctx, "the nodes of "+shrinking+" that nobody needs are gone", d.settled); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "get", "disruptions", "-m", shrinking); err != nil {
		return err
	}
	return d.saved(ctx, planned, before)
}

// settled wants nothing to be on its way, and nothing more to be planned.
func (d *demo) settled(ctx context.Context) error {
	all, err := d.disruptions(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Status.Ended.IsZero() {
			return fmt.Errorf("disruption %s is %s: %s", all[i].Name, all[i].Status.Phase, all[i].Status.Message)
		}
	}
	f, err := d.foresee(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 || len(f.Commands) > 0 || f.Stale != "" {
		return fmt.Errorf("%d disruptions have ended, %d more are planned, %q is waited for", len(all), len(f.Commands), f.Stale)
	}
	return nil
}

// saved compares what was planned first with what was done first, and what all of it saved with what the
// nodes cost now; no pod may have lost its place.
func (d *demo) saved(ctx context.Context, planned *explain.MemberForecast, before []api.MemberNode) error {
	all, err := d.disruptions(ctx)
	if err != nil {
		return err
	}
	first := &planned.Commands[0]
	if !slices.ContainsFunc(all, func(done api.NodeDisruption) bool {
		return slices.Equal(done.Status.Nodes, first.Nodes) && done.Status.Savings == first.Savings
	}) {
		return fmt.Errorf("%v were to go and save %s, no disruption did that", first.Nodes, first.Savings)
	}
	after, err := d.listNodes(ctx)
	if err != nil {
		return err
	}
	saves := 0.0
	for i := range all {
		saves += all[i].Status.Savings.Amount
	}
	was, is := cost(before), cost(after)
	if math.Abs(was-is-saves) > 1e-6 {
		return fmt.Errorf("the nodes cost %.4f less, the disruptions said %.4f", was-is, saves)
	}
	if err := d.allPodsRun(ctx); err != nil {
		return err
	}
	fmt.Printf("\n  nodes of %s: %d for %.2f an hour, before %d for %.2f; every pod runs\n", shrinking, len(after), is, len(before), was)
	if err := d.flotilla(ctx, "get", "nodes", "-m", shrinking); err != nil {
		return err
	}
	return d.flotilla(ctx, "why", "node/"+after[0].Name, "-m", shrinking)
}

func (d *demo) allPodsRun(ctx context.Context) error {
	found, err := d.fleet.Agent(shrinking).Memory().Survey(ctx)
	if err != nil {
		return err
	}
	for _, pod := range found.Pods {
		if pod.Spec.NodeName == "" {
			return fmt.Errorf("pod %s/%s of %s has no node", pod.Namespace, pod.Name, shrinking)
		}
	}
	return nil
}

func (d *demo) foresee(ctx context.Context) (*explain.MemberForecast, error) {
	var f explain.MemberForecast
	return &f, bus.Request(ctx, d.fleet.Client, api.VerbPlanNodes, api.PlanNodesRequest{Member: shrinking}, &f, bus.RequestOptions{})
}

func (d *demo) disruptions(ctx context.Context) ([]api.NodeDisruption, error) {
	var answer api.DisruptionsResponse
	err := bus.Request(ctx, d.fleet.Client, api.VerbDisruptions, api.DisruptionsRequest{Member: shrinking}, &answer, bus.RequestOptions{})
	return answer.Items, err
}

func (d *demo) listNodes(ctx context.Context) ([]api.MemberNode, error) {
	var answer api.NodesResponse
	err := bus.Request(ctx, d.fleet.Client, api.VerbNodes, api.NodesRequest{Member: shrinking}, &answer, bus.RequestOptions{})
	return answer.Items, err
}

// cost is what nodes cost an hour.
func cost(nodes []api.MemberNode) float64 {
	sum := 0.0
	for i := range nodes {
		sum += nodes[i].Status.Price.Amount
	}
	return sum
}
