package main

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target/memory"
	"flotilla/hub/flotilla/cli/session"
)

// rollouts are the steps of the demo of rollouts that somebody steers.
func (d *demo) rollouts() []step {
	return []step{
		{"eight members join", d.join},
		{"the storefront is placed, with more replicas in region east by an override", d.overrideRegion},
		{"a changed image is rolled out, and undone", d.undo},
		{"a placement is brought to the test members by a staged run, which then waits for somebody", d.bringTest},
		{"somebody agrees, and production follows, half of it at a time", d.bringProduction},
		{"a change fails in the first stage of the next run, and goes back by itself", d.rollBack},
		{"a member is drained, and comes back", d.drain},
		{"one word would take all shelves off their members, and waits for somebody", d.withdraw},
	}
}

// regional are members of region east, where the override asks for more replicas.
var regional = []string{"berlin", "cluster1", "osaka"}

func (d *demo) example(name string) string { return d.examples() + "/" + name + ".yaml" }

// overrideRegion has the storefront run five replicas in region east and two elsewhere, each with the name of its member.
func (d *demo) overrideRegion(ctx context.Context) error {
	for _, name := range []string{"content-storefront", "override-storefront", "004-rolling-update"} {
		if err := d.flotilla(ctx, "apply", "-f", d.example(name)); err != nil {
			return err
		}
	}
	if err := d.placed(ctx, rolling); err != nil {
		return err
	}
	p, err := d.placement(ctx, rolling)
	if err != nil {
		return err
	}
	for i := range p.Status.PlacementStatuses {
		member, want := p.Status.PlacementStatuses[i].ClusterName, int64(2)
		if slices.Contains(regional, member) {
			want = 5
		}
		if got, name := storeOf(d.fleet.Agent(member).Memory()); got != want || name != member {
			return fmt.Errorf("%s runs %d replicas with the name %q, expected %d", member, got, name, want)
		}
	}
	return d.flotilla(ctx, "get", "placement", rolling, "--members")
}

// storeOf is how many replicas the storefront has on a member, and the name that the override gave it there.
func storeOf(member *memory.Member) (replicas int64, name string) {
	for _, object := range member.Objects() {
		if object.GetKind() == storefront.Kind && object.GetNamespace() == storefront.Namespace {
			replicas, _, _ = unstructured.NestedInt64(object.Object, "spec", "replicas")
			return replicas, object.GetAnnotations()["example.com/member"]
		}
	}
	return 0, ""
}

// placed waits until a placement has converged.
func (d *demo) placed(ctx context.Context, name string) error {
	return d.until(ctx, name+" converges", func(ctx context.Context) error {
		p, err := d.placement(ctx, name)
		if err != nil {
			return err
		}
		d.progress.show(p)
		return converged(p)
	})
}

// undo rolls out an image, and goes back to the one before.
func (d *demo) undo(ctx context.Context) error {
	if err := d.release(ctx, oldVersion, newVersion); err != nil {
		return err
	}
	if err := d.placed(ctx, rolling); err != nil {
		return err
	}
	if err := d.runsEverywhere(ctx, newVersion); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "rollout", "undo", "placement/"+rolling); err != nil {
		return err
	}
	if err := d.placed(ctx, rolling); err != nil {
		return err
	}
	if err := d.runsEverywhere(ctx, oldVersion); err != nil {
		return err
	}
	return d.flotilla(ctx, "rollout", "history", "placement/"+rolling)
}

// drain takes everything off a member, and lets it come back.
func (d *demo) drain(ctx context.Context) error {
	if err := d.exits(ctx, session.ExitDone, "drain", "member", drained); err != nil {
		return err
	}
	if err := d.storefrontOn(ctx, drained, false); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "why", "placement/"+rolling, "--member", drained); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "uncordon", "member", drained); err != nil {
		return err
	}
	if err := d.storefrontOn(ctx, drained, true); err != nil {
		return err
	}
	return d.placed(ctx, rolling)
}
