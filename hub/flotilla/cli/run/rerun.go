package run

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) runRerunCommand() *cobra.Command {
	f, members := &startFlags{}, []string{}
	cmd := &cobra.Command{
		Use:   "rerun NAME",
		Short: "Take up members of a run that has ended, with the same versions and images",
		Long: `Take up members of a run that has ended, with the versions and images that the run was bound to. --members names them, or
sets of them: Failed, SkippedByUser, SkippedBySystem, All. A run that was stopped or has failed goes over those alone
and is Stopped again when they are done; the rest of it stays as it was. Without --members a run that was stopped or has
failed is taken up as a whole, a stopped one with what users skipped, and of a run that is finished the members that failed.`,
		Example: `  flotilla run rerun spring
  flotilla run rerun spring --members oslo,riga
  flotilla run rerun spring --members Failed,SkippedByUser --watch`,
		Args: oneRun,
		RunE: a.onRun(func(ctx context.Context, name string) error {
			if err := f.check(); err != nil {
				return err
			}
			request := api.RunRequest{Run: name, Members: rerunMembers(members), IgnoreMaintenanceWindows: f.ignoreWindows, Reason: f.reason}
			return a.operateAndFollow(ctx, &operation{verb: api.VerbRunRerun, request: request, done: "started again", dryRun: f.dryRun}, f.watch)
		}),
	}
	f.addFlags(cmd.Flags())
	session.DryRunFlag(cmd, &f.dryRun)
	cmd.Flags().StringSliceVar(&members, "members", nil, "which members: their names, or "+strings.Join(rerunSets, ", "))
	a.CompleteFlagWords(cmd, "members", rerunSets...)
	return cmd
}

// rerunMembers reads sets of members, whatever their case, and names of members, NAME or member/NAME.
func rerunMembers(given []string) []string {
	out := make([]string, len(given))
	for i, word := range given {
		out[i] = strings.TrimPrefix(word, "member/")
		for _, set := range rerunSets {
			if strings.EqualFold(set, word) {
				out[i] = set
			}
		}
	}
	return out
}

var rerunSets = []string{api.RerunFailed, api.RerunSkippedByUser, api.RerunSkippedBySystem, api.RerunAll}

// wordsAmong matches words with those that are known, whatever their case.
func wordsAmong(flag string, given, known []string) ([]string, error) {
	out := make([]string, len(given))
	for i, word := range given {
		for _, k := range known {
			if strings.EqualFold(k, word) {
				out[i] = k
			}
		}
		if out[i] == "" {
			return nil, session.Usagef("%s: found %q, expected %s%s", flag, word, strings.Join(known, ", "), meantAmong(word, known))
		}
	}
	return out, nil
}

func meantAmong(word string, known []string) string {
	lower := make([]string, len(known))
	for i := range known {
		lower[i] = strings.ToLower(known[i])
	}
	near := session.Nearest(word, lower)
	for i := range near {
		for _, k := range known {
			if strings.EqualFold(k, near[i]) {
				near[i] = k
			}
		}
	}
	return session.Meant(near)
}
