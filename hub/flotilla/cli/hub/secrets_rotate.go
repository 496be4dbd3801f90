package hub

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) secretsRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate FILE",
		Short: "Put a new secret in front of those of a file",
		Long: `Put a new secret in front of those of a file: from then on content is sealed with it, and what was sealed before is opened
with the others. Give every hub of the fleet the same file and start it anew, those that do not lead first. The one that leads
seals everything anew, while work goes on; "flotilla status" says how far it is. Nothing is applied anew on any member.
"flotilla secrets prune" takes the former secrets out of the file then. Asks no hub.`,
		Example: `  flotilla secrets rotate secrets.json`,
		Args:    cobra.MaximumNArgs(1),
		RunE: a.Do(func(_ context.Context, args []string) error {
			if len(args) != 1 {
				return session.Usagef("expected the FILE to change: flotilla secrets rotate secrets.json")
			}
			name, err := secrets.Rotate(args[0], rand.Reader)
			if err != nil {
				return fmt.Errorf("rotating secrets: %w", err)
			}
			a.Printf("%s begins with secret %s: give it to every hub of the fleet, and start them anew, the leader last\n", args[0], name)
			a.Next("flotilla status")
			return nil
		}),
	}
}

func (a commands) secretsPruneCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prune FILE",
		Short: "Take the secrets out of a file that nothing is sealed with any more",
		Long: `Take all secrets but the newest out of a file, once the hub says that everything is sealed with that one. Backups that were
made before need the former ones: keep a copy of the file with them.`,
		Example: `  flotilla secrets prune secrets.json`,
		Args:    cobra.MaximumNArgs(1),
		RunE: a.Do(func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return session.Usagef("expected the FILE to change: flotilla secrets prune secrets.json")
			}
			var hub api.VersionResponse
			if err := a.Call(ctx, api.VerbVersion, struct{}{}, &hub); err != nil {
				return err
			}
			gone, err := secrets.Prune(args[0], hub.Sealing.Content)
			if err != nil {
				return &session.Failure{Code: session.ExitRefused, Message: "nothing was changed: " + err.Error(), Next: "flotilla status"}
			}
			a.Printf("%d former secrets are out of %s: give it to every hub of the fleet\n", gone, args[0])
			return nil
		}),
	}
}
