package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestAWatchHearsOfItsFileAlone creates, writes over, replaces and removes a file, beside another one.
func TestAWatchHearsOfItsFileAlone(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	path, other := filepath.Join(dir, "faults"), filepath.Join(dir, "other")
	changes, stop, err := Watch(path)
	require.NoError(t, err)
	others, stopOther, err := Watch(other)
	require.NoError(t, err)

	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"created", func() error { return os.WriteFile(path, []byte("a"), 0o600) }},
		{"written over", func() error { return os.WriteFile(path, []byte("b"), 0o600) }},
		{"replaced", func() error {
			require.NoError(t, os.WriteFile(path+".new", []byte("c"), 0o600))
			return os.Rename(path+".new", path)
		}},
		{"removed", func() error { return os.Remove(path) }},
	} {
		require.NoError(t, step.do(), step.name)
		hears(t, changes, step.name)
	}
	require.Empty(t, others)
	stop()
	stop()
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	hears(t, others, "the other is watched on")
	stopOther()
	stopOther()
}

// Whoever does not listen holds nobody up: not another of the same file, nor one of another.
func TestSeveralWatchTheSameFile(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Chdir(t.TempDir())
	for _, path := range []string{"faults", "other"} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	_, stopDeaf, err := Watch("faults")
	require.NoError(t, err)
	changes, stop, err := Watch("faults")
	require.NoError(t, err)
	others, stopOther, err := Watch("other")
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, os.Remove("faults"))
		hears(t, changes, "it goes")
		require.NoError(t, os.Symlink("other", "faults"))
		hears(t, changes, "it comes")
	}
	require.NoError(t, os.Chmod("other", 0o400))
	hears(t, others, "the other changes")
	stopDeaf()
	require.NoError(t, os.Remove("faults"))
	hears(t, changes, "it is watched on")
	stop()
	stopOther()
}

func TestAWatchNeedsItsFolder(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	_, _, err := Watch(filepath.Join(t.TempDir(), "lost", "faults"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestWatchesThatLostSomethingTellAll: what the operating system could not keep may have been about any file.
func TestWatchesThatLostSomethingTellAll(t *testing.T) {
	changes, stop, err := Watch(filepath.Join(t.TempDir(), "faults"))
	require.NoError(t, err)
	defer stop()
	watched.system.Errors <- fsnotify.ErrEventOverflow
	hears(t, changes, "all")
}

func hears(t *testing.T, changes <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-changes:
	case <-time.After(10 * time.Second):
		require.Fail(t, what+": nothing was heard")
	}
}
