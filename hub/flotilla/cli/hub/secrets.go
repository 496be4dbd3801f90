package hub

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"flotilla/configs/secrets"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) secretsCommand() *cobra.Command {
	return session.Group("secrets", "Make and rotate the secrets that a hub seals content with", a.secretsCreateCommand(), a.secretsRotateCommand(), a.secretsPruneCommand())
}

func (a commands) secretsCreateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "create FILE",
		Short: "Make the secrets of a new fleet in a file",
		Long: `Make the secrets of a new fleet in a file of mode 0600; one that is there is not replaced. Every hub of the fleet gets
the same file, with --secrets. A hub with a NATS server of its own makes one in its data directory when it starts first. Asks
no hub. Keep a copy where only you can read it: without the file nothing that people applied can be read again.`,
		Example: `  flotilla secrets create secrets.json`,
		Args:    cobra.MaximumNArgs(1),
		RunE: a.Do(func(_ context.Context, args []string) error {
			if len(args) != 1 {
				return session.Usagef("expected the FILE to write: flotilla secrets create secrets.json")
			}
			if err := secrets.Create(args[0], rand.Reader); err != nil {
				return fmt.Errorf("making secrets: %w", err)
			}
			a.Printf("%s written: give it to every hub of the fleet with --secrets, and keep a copy\n", args[0])
			return nil
		}),
	}
}
