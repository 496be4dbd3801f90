package placement

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// steer is what the commands share that steer a rollout.
type steer struct {
	verb    string
	dryRun  string
	request api.RolloutRequest
}

// steering makes a command of a verb; more adds its own flags.
func (a Commands) steering(cmd *cobra.Command, s *steer) *cobra.Command {
	cmd.RunE = a.Do(func(ctx context.Context, args []string) error { return a.steer(ctx, s, args) })
	a.NamespaceFlag(cmd.Flags())
	session.DryRunFlag(cmd, &s.dryRun)
	return cmd
}

func (a Commands) steer(ctx context.Context, s *steer, args []string) error {
	dry, err := session.ParseDryRun(s.dryRun)
	if err != nil {
		return err
	}
	r, err := resource.PlacementRef(args, a.Namespace)
	if err != nil {
		return err
	}
	s.request.Request, s.request.Object, s.request.DryRun = resource.NewRequestID(), r.Object(), dry
	var answer api.RolloutResponse
	if err := a.Call(ctx, s.verb, s.request, &answer); err != nil {
		return err
	}
	a.Notes(answer.Notes)
	done := answer.Action
	if dry {
		done += " (server dry run)"
	}
	a.Printf("%s %s\n", resource.ShownName(answer.Object), done)
	if !dry && answer.Action != api.ActionUnchanged {
		a.Next("flotilla rollout status %s", r)
	}
	return nil
}

func (a Commands) undoCommand() *cobra.Command {
	s := &steer{verb: api.VerbRolloutUndo}
	cmd := a.steering(&cobra.Command{
		Use:   "undo placement/NAME",
		Short: "Take a placement back to an earlier revision",
		Long: `Take a placement back to an earlier revision: a new one that holds the same. Members get it as they get any
change, and stay with it until what the placement selects changes, or "rollout resume". Without --to-revision it is the
newest one that holds something else than members are to have now; so undoing twice is back where it began.`,
		Example: `  flotilla rollout undo placement/web
  flotilla rollout undo placement/web --to-revision 1`,
	}, s)
	cmd.Flags().Int64Var(&s.request.Revision, "to-revision", 0, "revision to go back to, of those that \"rollout history\" lists; 0 for the one before that differs")
	return cmd
}

func (a Commands) pauseCommand() *cobra.Command {
	s := &steer{verb: api.VerbRolloutPause}
	cmd := a.steering(&cobra.Command{
		Use:   "pause placement/NAME",
		Short: "Let no member move until a rollout is resumed",
		Long: `Let no member move until a rollout is resumed: none gets another revision, another apply strategy or the
placement at all, and none gives it up. What members were given before goes on. A deletion and a member that leaves
the fleet do not wait.`,
		Example: `  flotilla rollout pause placement/web --reason "errors in eu"`,
	}, s)
	cmd.Flags().StringVar(&s.request.Reason, "reason", "", "why, for those who wait")
	return cmd
}

func (a Commands) resumeCommand() *cobra.Command {
	return a.steering(&cobra.Command{
		Use:   "resume placement/NAME",
		Short: "Let a rollout go on that was paused, or undone",
		Long: `Let a rollout go on that was paused. One that is not paused, and stays with an earlier revision after
"rollout undo", follows what the placement selects again.`,
		Example: `  flotilla rollout resume placement/web`,
	}, &steer{verb: api.VerbRolloutResume})
}

func (a Commands) restartCommand() *cobra.Command {
	return a.steering(&cobra.Command{
		Use:   "restart placement/NAME",
		Short: "Have members make the pods of a placement anew",
		Long: `Have members make the pods of a placement anew, as fast as its changes roll out: the templates of its
Deployments, StatefulSets and DaemonSets on the hub get the annotation by which kubectl restarts them. Other placements
that select the same workloads restart them too.`,
		Example: `  flotilla rollout restart placement/web`,
	}, &steer{verb: api.VerbRolloutRestart})
}
