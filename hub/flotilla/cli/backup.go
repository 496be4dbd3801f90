package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all state of the fleet to a file",
		Long: `Write all state of the fleet to a file: every record as of one moment, and all content as it is stored, with a
checksum. The fleet goes on meanwhile; members, results and events are not in it. The file has mode 0600; one that is there
is not replaced.`,
		Example: `  flotilla backup fleet.backup`,
		Args:    cobra.MaximumNArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return usagef("expected the FILE to write: flotilla backup FILE")
			}
			return a.backup(ctx, args[0])
		}),
	}
}

func (a *app) backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return usagef("%s is there already: name another file", path)
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
	a.printf("%s written: %d records and %d bodies of fleet %s\n", path, head.Records, head.Contents, head.Fleet)
	return nil
}

// writeBackup fetches page after page.
func (a *app) writeBackup(ctx context.Context, file *os.File) (*api.BackupHead, error) {
	request := api.BackupRequest{Session: randomToken()}
	var archive *archiveWriter
	for {
		var page api.BackupPage
		if err := a.call(ctx, api.VerbBackup, &request, &page); err != nil {
			return nil, err
		}
		if archive == nil {
			var err error
			if archive, err = newArchive(file, &page.Head); err != nil {
				return nil, fmt.Errorf("backup: %w", err)
			}
		}
		if err := archive.add(page.Entries); err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		if page.Next == 0 {
			return &page.Head, archive.close()
		}
		request.From = page.Next
	}
}
