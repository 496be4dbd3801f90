package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

func (a *app) taintCommand() *cobra.Command {
	var dryRun string
	cmd := &cobra.Command{
		Use:   "taint member NAME KEY=VALUE:NoSchedule… KEY-…",
		Short: "Keep new placements off a member, or take that away",
		Long: `Set or remove taints of a member. A taint keeps off placements that do not tolerate it; what runs
there stays.`,
		Example: `  flotilla taint member berlin gpu=yes:NoSchedule
  flotilla taint member berlin gpu-`,
		RunE: a.run(func(ctx context.Context, args []string) error { return a.taint(ctx, args, dryRun, false) }),
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}

// taint reads "[member] NAME CHANGE…"; the word member may be left out under "flotilla member".
func (a *app) taint(ctx context.Context, args []string, dryRun string, bare bool) error {
	dry, err := parseDryRun(dryRun)
	if err != nil {
		return err
	}
	split := len(args)
	for split > 0 && strings.ContainsAny(args[split-1], ":=") || split > 0 && strings.HasSuffix(args[split-1], "-") {
		split--
	}
	name, err := memberName(args[:split], bare)
	if err != nil {
		return err
	}
	if split == len(args) {
		return usagef("found no taint, expected KEY=VALUE:%s, or KEY- to remove it", api.EffectNoSchedule)
	}
	var changes []taintChange
	for _, arg := range args[split:] {
		c, err := parseTaint(arg)
		if err != nil {
			return err
		}
		changes = append(changes, c)
	}
	done := "untainted"
	if slices.ContainsFunc(changes, func(c taintChange) bool { return !c.remove }) {
		done = "tainted"
	}
	return a.changeTaints(ctx, name, changes, done, dry)
}

func (a *app) changeTaints(ctx context.Context, member string, changes []taintChange, done string, dry bool) error {
	r := ref{resourceKind: kindOfObject(clusterVersion, api.KindMemberCluster), name: member}
	result, err := a.patch(ctx, r, dry, func(obj *unstructured.Unstructured) (map[string]any, error) {
		now := taintsOf(obj)
		then := applyTaints(now, changes)
		if slices.Equal(now, then) {
			return nil, nil
		}
		return map[string]any{"spec": map[string]any{"taints": then}}, nil
	})
	if err != nil {
		return err
	}
	a.report(result, done, dry)
	if !dry {
		a.next("flotilla get members -o wide")
	}
	return nil
}
