package run

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// skipWords maps the words of skip targets to their types.
var skipWords = []struct{ word, target string }{
	{"member", api.TargetMember},
	{"group", api.TargetGroup},
	{"stage", api.TargetStage},
	{"wait", api.TargetAfterStageWait},
}

func (a commands) runSkipCommand() *cobra.Command {
	var dryRun string
	cmd := &cobra.Command{
		Use:   "skip NAME TYPE/NAME…",
		Short: "Skip members, groups, stages or the wait after a stage; all of them or none",
		Long: `Skip members, groups, stages, or the wait after a stage: member/NAME, group/NAME, stage/NAME, wait/STAGE. All of them are
skipped or, when one cannot be, none. What runs already finishes.`,
		Example: `  flotilla run skip spring member/oslo
  flotilla run skip spring group/eu-west wait/canary`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return session.Usagef("found %d arguments, expected an update run and what to skip of it, member/oslo", len(args))
			}
			return nil
		},
		RunE: a.Do(func(ctx context.Context, args []string) error {
			name, err := a.runName(args[0])
			if err != nil {
				return err
			}
			targets, err := skipTargets(args[1:])
			if err != nil {
				return err
			}
			o := &operation{verb: api.VerbRunSkip, request: api.RunRequest{Run: name, Targets: targets}, done: "skips " + strings.Join(args[1:], ", "), dryRun: dryRun}
			return a.operateAndFollow(ctx, o, false)
		}),
	}
	session.DryRunFlag(cmd, &dryRun)
	return cmd
}

func skipTargets(args []string) ([]api.SkipTarget, error) {
	targets, faults := make([]api.SkipTarget, len(args)), []error(nil)
	for i, arg := range args {
		target, err := skipTarget(arg)
		if err != nil {
			faults = append(faults, err)
		}
		targets[i] = target
	}
	return targets, resource.JoinErrors(session.ExitUsage, faults)
}

func skipTarget(arg string) (api.SkipTarget, error) {
	word, name, _ := strings.Cut(arg, "/")
	var all []string
	for _, w := range skipWords {
		if name != "" && (strings.EqualFold(word, w.word) || strings.EqualFold(word, w.word+"s")) {
			return api.SkipTarget{Type: w.target, Name: name}, nil
		}
		all = append(all, w.word)
	}
	hint := ""
	if name != "" {
		hint = session.Meant(session.Nearest(word, all))
	}
	return api.SkipTarget{}, session.Usagef("found %q, expected member/NAME, group/NAME, stage/NAME or wait/STAGE%s", arg, hint)
}
