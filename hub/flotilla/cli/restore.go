package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

func (a *app) restoreCommand() *cobra.Command {
	var accept bool
	cmd := &cobra.Command{
		Use:   "restore --accept-loss",
		Short: "Go on when state is damaged",
		Long: `Go on when records of state are gone. Until then no hub leads, members keep what they run, and
flotilla status says what is gone.

With --accept-loss the fleet goes on with what is left: the event LossAccepted of fleet/state names what was given up. Nothing is
withdrawn from members on account of it: placements that are gone go on running, and are reported as
unlisted until they are applied again; members that are gone go on with what they run until they are admitted again.`,
		Example: `  flotilla status
  flotilla restore --accept-loss`,
		Args: noArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			if !accept {
				return usagef("say how to go on: --accept-loss goes on without what is gone")
			}
			return a.acceptLoss(ctx)
		}),
	}
	cmd.Flags().BoolVar(&accept, "accept-loss", false, "go on without what is gone")
	return cmd
}

func (a *app) acceptLoss(ctx context.Context) error {
	var answer api.RestoreResponse
	if err := a.call(ctx, api.VerbRestore, api.RestoreRequest{AcceptLoss: true}, &answer); err != nil {
		return err
	}
	a.printf("gone on with %d records, without: %s\n", answer.Records, answer.Damage)
	a.next("flotilla status")
	return nil
}
