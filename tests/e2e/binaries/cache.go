package binaries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// unfinished begins the names of folders that are being built.
	unfinished = "building-"
	// kept are how many sets stay beside a new one: those of other branches. A set takes 200 MB.
	kept = 3
)

// lockCache makes the cache folder and locks it; the kernel gives the lock up when the process ends.
func lockCache(ctx context.Context, cache string, say io.Writer) (*os.File, error) {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, fmt.Errorf("making the cache folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the cache folder: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_, _ = fmt.Fprintf(say, "another process builds the control plane into %s: waiting for it\n", cache)
		err = lockLater(ctx, file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking the cache folder: %w", err), file.Close())
	}
	return file, nil
}

func lockLater(ctx context.Context, file *os.File) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
	}
}

// sweep removes what builds left that were killed, and the sets that were used longest ago. Whoever holds the lock may.
func sweep(cache string) error {
	folders, err := filepath.Glob(filepath.Join(cache, unfinished+"*"))
	if err != nil {
		return err
	}
	sets, err := filepath.Glob(filepath.Join(cache, "*", used))
	if err != nil {
		return err
	}
	lastUse := map[string]time.Time{}
	for _, path := range sets {
		use, err := os.Stat(path)
		if err != nil {
			return err
		}
		lastUse[path] = use.ModTime()
	}
	slices.SortFunc(sets, func(a, b string) int { return cmp.Or(lastUse[b].Compare(lastUse[a]), cmp.Compare(a, b)) })
	for _, path := range sets[min(kept, len(sets)):] {
		folders = append(folders, filepath.Dir(path))
	}
	for _, folder := range folders {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	return nil
}
