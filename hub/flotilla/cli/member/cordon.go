package member

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) cordonCommand() *cobra.Command {
	return a.cordonLike("cordon", "Keep every new placement off a member", false)
}

func (a commands) uncordonCommand() *cobra.Command {
	return a.cordonLike("uncordon", "Let placements onto a member again", true)
}

func (a commands) cordonLike(verb, short string, remove bool) *cobra.Command {
	var dryRun string
	cmd := &cobra.Command{
		Use:     verb + " member NAME",
		Short:   short,
		Long:    short + ". Cordoning is the taint " + api.TaintCordoned + ":" + api.EffectNoSchedule + "; what runs on the member stays.",
		Example: "  flotilla " + verb + " member berlin",
		RunE: a.Do(func(ctx context.Context, args []string) error {
			return a.cordon(ctx, args, verb+"ed", remove, dryRun, false)
		}),
	}
	session.DryRunFlag(cmd, &dryRun)
	return cmd
}

func (a commands) cordon(ctx context.Context, args []string, done string, remove bool, dryRun string, bare bool) error {
	dry, err := session.ParseDryRun(dryRun)
	if err != nil {
		return err
	}
	name, err := resource.MemberName(args, bare)
	if err != nil {
		return err
	}
	c := taintChange{taint: api.Taint{Key: api.TaintCordoned, Effect: api.EffectNoSchedule}, remove: remove}
	return a.changeTaints(ctx, name, []taintChange{c}, done, dry)
}
