package member

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// cordonCommands makes cordon and uncordon, which are called "VERB member NAME", under "flotilla member" "VERB NAME".
func (a commands) cordonCommands(bare bool) []*cobra.Command {
	return []*cobra.Command{
		a.cordonLike("cordon", "Keep every new placement off a member", false, bare),
		a.cordonLike("uncordon", "Let placements onto a member again", true, bare),
	}
}

func (a commands) cordonLike(verb, short string, remove, bare bool) *cobra.Command {
	var dryRun string
	cmd := &cobra.Command{
		Use: verb + " member NAME", Short: short, Example: "  flotilla " + verb + " member berlin",
		Long: short + ". Cordoning is the taint " + api.TaintCordoned + ":" + api.EffectNoSchedule + "; what runs on the member stays. Either ends a drain.",
	}
	if bare {
		cmd.Use, cmd.Example, cmd.Long, cmd.Args = verb+" NAME", "  flotilla member "+verb+" berlin", "", oneName
	}
	cmd.RunE = a.Do(func(ctx context.Context, args []string) error {
		dry, err := session.ParseDryRun(dryRun)
		if err != nil {
			return err
		}
		name, err := resource.MemberName(args, bare)
		if err != nil {
			return err
		}
		c := taintChange{taint: api.Taint{Key: api.TaintCordoned, Effect: api.EffectNoSchedule}, remove: remove}
		return a.changeTaints(ctx, name, []taintChange{c}, verb+"ed", dry)
	})
	session.DryRunFlag(cmd, &dryRun)
	return cmd
}
