package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

func (a *app) runRerunCommand() *cobra.Command {
	f, sets := &startFlags{}, []string{}
	cmd := &cobra.Command{
		Use:   "rerun NAME",
		Short: "Take up members of a run that has ended, with the same versions and images",
		Example: `  flotilla run rerun spring
  flotilla run rerun spring --members Failed,SkippedByUser --watch`,
		Args: oneRun,
		RunE: a.run(func(ctx context.Context, args []string) error {
			name, err := runName(args[0])
			if err = cmp.Or(err, f.check()); err != nil {
				return err
			}
			if sets, err = wordsAmong("--members", sets, rerunSets); err != nil {
				return err
			}
			request := api.RunRequest{Run: name, Members: sets, IgnoreMaintenanceWindows: f.ignoreWindows, Reason: f.reason}
			return a.operateAndFollow(ctx, &operation{verb: api.VerbRunRerun, request: request, done: "started again"}, f.watch)
		}),
	}
	f.addFlags(cmd.Flags())
	cmd.Flags().StringSliceVar(&sets, "members", []string{api.RerunFailed}, "which members: "+strings.Join(rerunSets, ", "))
	a.completeFlagWords(cmd, "members", rerunSets...)
	return cmd
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
			return nil, usagef("%s: found %q, expected %s%s", flag, word, strings.Join(known, ", "), meantAmong(word, known))
		}
	}
	return out, nil
}

func meantAmong(word string, known []string) string {
	lower := make([]string, len(known))
	for i := range known {
		lower[i] = strings.ToLower(known[i])
	}
	near := nearest(word, lower)
	for i := range near {
		for _, k := range known {
			if strings.EqualFold(k, near[i]) {
				near[i] = k
			}
		}
	}
	return meant(near)
}
