package main

import (
	"context"
	"fmt"

	"flotilla/hub/flotilla/cli/session"
)

const (
	evicted = "tampa"
	drained = "cluster1"
)

// evict takes a placement off one member for good, and then all that goes off another one, to which it returns.
func (d *demo) evict(ctx context.Context) error {
	if err := d.flotilla(ctx, "evict", "placement/"+rolling, "--member", evicted); err != nil {
		return err
	}
	if err := d.storefrontOn(ctx, evicted, false); err != nil {
		return err
	}
	// crp-fixed names the member: it stays, and the drain says so.
	if err := d.exits(ctx, session.ExitPartial, "drain", "member", drained); err != nil {
		return err
	}
	if err := d.storefrontOn(ctx, drained, false); err != nil {
		return err
	}
	if err := d.pickedExactly(ctx, fixed, []string{"cluster1", "cluster2"}); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "uncordon", "member", drained); err != nil {
		return err
	}
	if err := d.storefrontOn(ctx, drained, true); err != nil {
		return err
	}
	if imageOf(d.fleet.Agent(evicted).Memory()) != "" {
		return fmt.Errorf("%s has the storefront again", evicted)
	}
	return d.allConverged(ctx)
}

// storefrontOn looks into a member until the storefront is there, or is not.
func (d *demo) storefrontOn(ctx context.Context, member string, there bool) error {
	return d.until(ctx, "the storefront comes to "+member+", or goes", func(context.Context) error {
		if image := imageOf(d.fleet.Agent(member).Memory()); (image != "") != there {
			return fmt.Errorf("%s runs image %q", member, image)
		}
		return nil
	})
}
