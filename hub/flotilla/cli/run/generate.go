package run

import (
	"context"
	"crypto/rand"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) runGenerateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "generate PROFILE",
		Short: "Make the run that an auto-upgrade profile would make now, without starting it",
		Long: `Make the run that an auto-upgrade profile would make for the versions that are published now, without starting it. A run that
exists for them is named and stays as it is.`,
		Example: `  flotilla run generate stable`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return session.Usagef("found %d arguments, expected the name of one auto-upgrade profile", len(args))
			}
			return nil
		},
		RunE: a.Do(func(ctx context.Context, args []string) error {
			profile, err := resource.NameOfKind(args[0], api.KindAutoUpgradeProfile, "an auto-upgrade profile")
			if err != nil {
				return err
			}
			var reply api.RunResponse
			request := api.RunRequest{Request: rand.Text(), Run: profile}
			if err := a.Call(ctx, api.VerbRunGenerate, request, &reply); err != nil {
				return a.withNear(ctx, err, api.KindAutoUpgradeProfile, profile)
			}
			a.sayGenerated(profile, &reply)
			return nil
		}),
	}
}

func (a commands) sayGenerated(profile string, reply *api.RunResponse) {
	a.Notes(reply.Warnings)
	if reply.Unchanged {
		a.Printf("run %s of profile %s exists%s\n", reply.Run, profile, stateSuffix(reply.State))
	} else {
		a.Printf("run %s of profile %s created\n", reply.Run, profile)
	}
	if reply.State == "" || reply.State == api.StateNotStarted {
		a.Next("flotilla run start %s", reply.Run)
	} else {
		a.Next("flotilla run status %s", reply.Run)
	}
}
