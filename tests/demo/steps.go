package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target/memory"
	"flotilla/core/api"
)

type step struct {
	title string
	do    func(context.Context) error
}

const (
	rolling    = "crp-rolling-update"
	affine     = "crp-pickn-01"
	fixed      = "crp-fixed"
	failing    = "osaka"
	oldVersion = "store:1.0.0"
	newVersion = "store:2.0.0"
	badVersion = "store:3.0.0"
)

var storefront = api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "storefront", Name: "store"}

func (d *demo) steps() []step {
	return []step{
		{"eight members join", d.join},
		{"what would happen, before it does", d.plan},
		{"every example is applied and converges", d.apply},
		{"where things are", d.tables},
		{"why they are there", d.why},
		{"a changed image is rolled out", d.rollOut},
		{"a member fails", d.fail},
		{"and comes back", d.comeBack},
		{"a placement is evicted from a member, and another member is drained", d.evict},
		{"a placement is deleted", d.remove},
		{"a placement is brought to the test members by a staged run, which then waits for somebody", d.bringTest},
		{"somebody agrees, and production follows, half of it at a time", d.bringProduction},
		{"an upgrade of the fleet is planned", d.planUpgrade},
		{"the test members are upgraded, then a gate waits", d.upgradeTest},
		{"production follows in two groups side by side, and a member fails", d.upgradeProduction},
		{"the failed member is skipped, a window opens, and the run ends", d.endUpgrade},
		{"nodes that nobody needs go, and a cheaper one takes over", d.consolidate},
	}
}

func (d *demo) examples() string { return filepath.Join(d.folder, "configs", "examples") }

func (d *demo) join(ctx context.Context) error {
	err := d.until(ctx, "eight members are Ready", func(ctx context.Context) error {
		return d.members(ctx, 8, api.MemberReady)
	})
	if err != nil {
		return err
	}
	return d.flotilla(ctx, "get", "members")
}

func (d *demo) apply(ctx context.Context) error {
	if err := d.flotilla(ctx, "apply", "-f", d.examples()); err != nil {
		return err
	}
	fmt.Println()
	if err := d.allConverged(ctx); err != nil {
		return err
	}
	for name, want := range map[string][]string{
		fixed:  {"cluster1", "cluster2"},
		affine: d.pickedByAffinity(),
	} {
		if err := d.pickedExactly(ctx, name, want); err != nil {
			return err
		}
	}
	return nil
}

// pickedByAffinity is what the policy of crp-pickn-01 asks for: of the members that allow critical
// workloads, those of level 1 first. oslo is one of them and tainted, so the third place goes to one of
// another level, and of equals to the last by name.
func (d *demo) pickedByAffinity() []string { return []string{"berlin", "dublin", "lyon"} }

func (d *demo) tables(ctx context.Context) error {
	if err := d.flotilla(ctx, "get", "placements"); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "describe", "placement", fixed); err != nil {
		return err
	}
	return d.flotilla(ctx, "status")
}

func (d *demo) why(ctx context.Context) error {
	if err := d.flotilla(ctx, "why", "placement/"+affine); err != nil {
		return err
	}
	return d.flotilla(ctx, "why", "placement/"+affine, "--member", "oslo")
}

func (d *demo) rollOut(ctx context.Context) error {
	if err := d.release(ctx, oldVersion, newVersion); err != nil {
		return err
	}
	if err := d.allConverged(ctx); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "rollout", "status", "placement/"+rolling); err != nil {
		return err
	}
	return d.runsEverywhere(ctx, newVersion)
}

// release applies the storefront with another image.
func (d *demo) release(ctx context.Context, from, to string) error {
	file := filepath.Join(d.examples(), "content-storefront.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), from, to, 1)
	if changed == string(text) {
		return fmt.Errorf("%s does not mention %s", file, from)
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "apply", "-f", file); err != nil {
		return err
	}
	fmt.Println()
	return nil
}

// runsEverywhere looks into the picked members themselves.
func (d *demo) runsEverywhere(ctx context.Context, image string) error {
	p, err := d.placement(ctx, rolling)
	if err != nil {
		return err
	}
	for _, s := range p.Status.PlacementStatuses {
		if live := imageOf(d.fleet.Agent(s.ClusterName).Memory()); !strings.HasSuffix(live, image) {
			return fmt.Errorf("member %s runs image %q, expected %s", s.ClusterName, live, image)
		}
	}
	return nil
}

func imageOf(member *memory.Member) string {
	for _, object := range member.Objects() {
		if object.GetKind() != storefront.Kind || object.GetNamespace() != storefront.Namespace {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok {
				return fmt.Sprint(container["image"])
			}
		}
	}
	return ""
}
