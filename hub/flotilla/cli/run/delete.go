package run

import (
	"context"
	"crypto/rand"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

func (a commands) runDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a run that is not active; its gates go with it",
		Example: `  flotilla run delete spring`,
		Args:    oneRun,
		RunE: a.onRun(func(ctx context.Context, name string) error {
			run, err := a.fetchRun(ctx, name)
			if err != nil {
				return err
			}
			var reply api.ApplyResult
			if err := a.Call(ctx, api.VerbDelete, api.DeleteRequest{Request: rand.Text(), Object: refOf(name)}, &reply); err != nil {
				return a.withNearRuns(ctx, err, name)
			}
			a.Printf("run %s deleted\n", name)
			if again := madeAgain(run); again != "" {
				a.Note("%s", again)
			}
			a.Next("flotilla get runs")
			return nil
		}),
	}
}

// madeAgain warns of the profile that made a run and makes it again when it is gone.
func madeAgain(run *api.UpdateRun) string {
	if run.Spec.AutoUpgradeProfile == "" {
		return ""
	}
	return "profile " + run.Spec.AutoUpgradeProfile + " makes the run again while it is enabled and members are behind its channel; " +
		"set spec.disabled: true in the profile to prevent that"
}
