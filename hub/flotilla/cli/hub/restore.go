package hub

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"flotilla/configs/files"
	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// restoreFlags are those of `flotilla restore`.
type restoreFlags struct {
	accept, replace bool
}

func (a commands) restoreCommand() *cobra.Command {
	var flags restoreFlags
	cmd := &cobra.Command{
		Use:   "restore (FILE | --accept-loss)",
		Short: "Put a backup in the place of state, or go on without what is lost",
		Long: `Put a backup in the place of state, or go on when records of state are gone.

A backup of this fleet is restored into a damaged state or an empty fleet; --replace lets it take the place of a state that is
whole. The file is checked to its end before anything is changed. The fleet goes on in a new epoch, so that members follow it
whatever they were told since. Nothing is taken from members: what they run that the backup does not know goes on, and is reported
as unlisted; withdrawals and disruptions of nodes that were under way are forgotten. Of people what is known now stays: a restore
gives nobody back credentials that were revoked since.

With --accept-loss a damaged fleet goes on with what is left: the event LossAccepted of fleet/state names what was given up. Nothing
is withdrawn from members on account of it: placements that are gone go on running, and are reported as unlisted until they
are applied again; members that are gone go on with what they run until they are admitted again.`,
		Example: `  flotilla restore fleet.backup
  flotilla restore --accept-loss`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Do(func(ctx context.Context, args []string) error {
			switch {
			case flags.accept && (len(args) > 0 || flags.replace):
				return session.Usagef("--accept-loss goes on without a backup: give no FILE and no --replace")
			case flags.accept:
				return a.acceptLoss(ctx)
			case len(args) == 0:
				return session.Usagef("say how to go on: FILE is a backup, --accept-loss goes on without what is gone")
			}
			return a.restore(ctx, args[0], flags.replace)
		}),
	}
	cmd.Flags().BoolVar(&flags.accept, "accept-loss", false, "go on without what is gone")
	cmd.Flags().BoolVar(&flags.replace, "replace", false, "also where state is whole and holds objects")
	return cmd
}

func (a commands) acceptLoss(ctx context.Context) error {
	var answer api.RestoreResponse
	if err := a.Call(ctx, api.VerbRestore, api.RestoreRequest{AcceptLoss: true}, &answer); err != nil {
		return err
	}
	a.Printf("gone on with %d records, without: %s\n", answer.Records, answer.Damage)
	a.Next("flotilla status")
	return nil
}

func (a commands) restore(ctx context.Context, path string, replace bool) error {
	var first *api.BackupPage
	head, err := readBackup(path, func(page *api.BackupPage) error {
		first = cmp.Or(first, page)
		return nil
	})
	if err != nil {
		return err
	}
	session := rand.Text()
	begin := api.RestoreRequest{Session: session, Step: api.RestoreBegin, Replace: replace, Head: head, Page: first}
	if err := a.Call(ctx, api.VerbRestore, &begin, nil); err != nil {
		return err
	}
	send := func(page *api.BackupPage) error {
		return a.Call(ctx, api.VerbRestore, &api.RestoreRequest{Session: session, Step: api.RestorePage, Page: page}, nil)
	}
	if _, err := readBackup(path, send); err != nil {
		return err
	}
	var answer api.RestoreResponse
	if err := a.Call(ctx, api.VerbRestore, api.RestoreRequest{Session: session, Step: api.RestoreCommit}, &answer); err != nil {
		return err
	}
	a.Printf("restored %d records as of %s; epoch %d begins\n", answer.Records, head.At.UTC().Format("2006-01-02 15:04:05Z"), answer.Epoch)
	a.Next("flotilla status")
	return nil
}

// readBackup checks a backup file to its end, and hands out its pages as they come.
func readBackup(path string, take func(*api.BackupPage) error) (*api.BackupHead, error) {
	// It is read once to its end before the fleet is touched, and once more.
	if err := files.CheckRegular(path); err != nil {
		return nil, session.Usagef("%s", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, session.Usagef("%s", err)
	}
	defer func() { _ = file.Close() }()
	head, err := readArchive(file, take)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	return head, nil
}
