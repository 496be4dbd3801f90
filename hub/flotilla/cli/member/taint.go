package member

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// taintCommand makes "taint member NAME CHANGE…", under "flotilla member" "taint NAME CHANGE…".
func (a commands) taintCommand(bare bool) *cobra.Command {
	var dryRun string
	cmd := &cobra.Command{
		Use:   "taint member NAME KEY=VALUE:NoSchedule… KEY-…",
		Short: "Keep new placements off a member, or take that away",
		Long: `Set or remove taints of a member. A taint keeps off placements that do not tolerate it; what runs
there stays.`,
		Example: `  flotilla taint member berlin gpu=yes:NoSchedule
  flotilla taint member berlin gpu-`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.taint(ctx, args, dryRun, bare) }),
	}
	if bare {
		cmd.Use, cmd.Short, cmd.Long = "taint NAME KEY=VALUE:NoSchedule… KEY-…", "Set or remove taints of a member", ""
		cmd.Example, cmd.Args = `  flotilla member taint berlin gpu=yes:NoSchedule`, cobra.MinimumNArgs(1)
	}
	session.DryRunFlag(cmd, &dryRun)
	return cmd
}

// taint reads "[member] NAME CHANGE…"; the word member may be left out under "flotilla member".
func (a commands) taint(ctx context.Context, args []string, dryRun string, bare bool) error {
	dry, err := session.ParseDryRun(dryRun)
	if err != nil {
		return err
	}
	split := len(args)
	for split > 0 && strings.ContainsAny(args[split-1], ":=") || split > 0 && strings.HasSuffix(args[split-1], "-") {
		split--
	}
	name, err := resource.MemberName(args[:split], bare)
	if err != nil {
		return err
	}
	if split == len(args) {
		return session.Usagef("found no taint, expected KEY=VALUE:%s, or KEY- to remove it", api.EffectNoSchedule)
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

func (a commands) changeTaints(ctx context.Context, member string, changes []taintChange, done string, dry bool) error {
	if err := a.setTaints(ctx, member, changes, done, dry); err != nil {
		return err
	}
	if !dry {
		a.Next("flotilla get members -o wide")
	}
	return nil
}

func (a commands) setTaints(ctx context.Context, member string, changes []taintChange, done string, dry bool) error {
	r := resource.Named(api.KindMemberCluster, member)
	result, err := a.Patch(ctx, r, dry, func(obj *unstructured.Unstructured) (map[string]any, error) {
		now := resource.Into[api.MemberCluster](obj).Spec.Taints
		then := applyTaints(now, changes)
		if slices.Equal(now, then) {
			return nil, nil
		}
		return map[string]any{"spec": map[string]any{"taints": then}}, nil
	})
	if err != nil {
		return err
	}
	a.Report(result, done, dry)
	return nil
}

// taintChange is one argument of taint: a taint to set, or one to take away.
type taintChange struct {
	taint  api.Taint
	remove bool
}

// parseTaint reads kubectl's forms: key=value:NoSchedule, key:NoSchedule, and key-, key:NoSchedule-
// to take it away.
func parseTaint(arg string) (taintChange, error) {
	body, remove := strings.CutSuffix(arg, "-")
	pair, effect, hasEffect := strings.Cut(body, ":")
	key, value, _ := strings.Cut(pair, "=")
	switch {
	case key == "":
		return taintChange{}, session.Usagef("taint %q: found no key, expected key=value:%s, or key- to remove it", arg, api.EffectNoSchedule)
	case !hasEffect && !remove:
		return taintChange{}, session.Usagef("taint %q: found no effect, expected %s:%s", arg, pair, api.EffectNoSchedule)
	case hasEffect && effect != api.EffectNoSchedule:
		return taintChange{}, session.Usagef("taint %q: found effect %q, expected %s, the only one there is", arg, effect, api.EffectNoSchedule)
	}
	return taintChange{taint: api.Taint{Key: key, Value: value, Effect: api.EffectNoSchedule}, remove: remove}, nil
}

// applyTaints returns the taints after the changes; the order of what stays is kept.
func applyTaints(taints []api.Taint, changes []taintChange) []api.Taint {
	result := append([]api.Taint{}, taints...)
	for _, c := range changes {
		if c.remove {
			result = api.WithoutTaint(result, c.taint.Key)
		} else {
			result = api.WithTaint(result, c.taint)
		}
	}
	return result
}
