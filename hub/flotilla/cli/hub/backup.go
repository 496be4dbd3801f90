package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all state of the fleet to a file",
		Long: `Write all state of the fleet to a file: every record as of one moment, and all content, with a checksum. The hub
seals all of it with its newest secret, so that whoever finds the file sees the name of the fleet, a date and sizes. The fleet
goes on meanwhile; members, results and events are not in it. The file has mode 0600; one that is there is not replaced.`,
		Example: `  flotilla backup fleet.backup`,
		Args:    cobra.MaximumNArgs(1),
		RunE: a.Do(func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return session.Usagef("expected the FILE to write: flotilla backup FILE")
			}
			return a.backup(ctx, args[0])
		}),
	}
}

func (a commands) backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return session.Usagef("%s is there already: name another file", path)
	}
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }()
	head, err := a.writeBackup(ctx, part)
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), path); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	a.Printf("%s written: %d records and %d bodies of fleet %s, which a hub with secret %s opens\n", path, head.Records, head.Contents, head.Fleet, head.Secret())
	return nil
}

// writeBackup fetches page after page.
func (a commands) writeBackup(ctx context.Context, file *os.File) (*api.BackupHead, error) {
	request := api.BackupRequest{Session: rand.Text()}
	var archive *archiveWriter
	for {
		var answer api.BackupResponse
		if err := a.Call(ctx, api.VerbBackup, &request, &answer); err != nil {
			return nil, err
		}
		if archive == nil {
			var err error
			if archive, err = newArchive(file, &answer.Head); err != nil {
				return nil, fmt.Errorf("backup: %w", err)
			}
		}
		if err := archive.add(&answer.Page); err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		if answer.Page.Next == 0 {
			return &answer.Head, archive.close()
		}
		request.From = answer.Page.Next
	}
}
