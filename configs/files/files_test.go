package files_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"flotilla/configs/files"
)

func TestAFileIsReadUpToItsBound(t *testing.T) {
	const most = 3 << 20
	path := filepath.Join(t.TempDir(), "file")
	for size, fits := range map[int]bool{0: true, 1: true, 4 << 10: true, 4<<10 + 1: true, most - 1: true, most: true, most + 1: false, 2 * most: false} {
		body := bytes.Repeat([]byte("x"), size)
		require.NoError(t, os.WriteFile(path, body, 0o600))
		read, err := files.Read(path, most)
		streamed, streamErr := files.All(iotest.OneByteReader(bytes.NewReader(body)), most)
		if fits {
			require.NoError(t, err, size)
			require.NoError(t, streamErr, size)
			require.True(t, bytes.Equal(body, read), size)
			require.True(t, bytes.Equal(body, streamed), size)
			continue
		}
		require.EqualError(t, err, "read "+path+": found more than 3 MiB, expected at most that much in one file")
		var tooLarge *files.TooLargeError
		require.ErrorAs(t, streamErr, &tooLarge)
	}
}

// A device that never ends costs no more memory than the bound.
func TestADeviceWithoutEndIsReadUnderTheBound(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := files.Read("/dev/zero", files.Most)
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "read /dev/zero: found more than 64 MiB")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(files.Most+files.Most/4))
	empty, err := files.Read("/dev/null", files.Most)
	require.NoError(t, err)
	require.Empty(t, empty)
}

func TestWhatIsNoFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	pipe, link, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(pipe, link))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]string{
		pipe: "found a named pipe, expected a file", link: "found a named pipe, expected a file",
		"/dev/zero": "found a device, expected a file", dir: "found no file, expected a file",
	} {
		require.EqualError(t, files.CheckRegular(path), "read "+path+": "+want)
	}
	require.NoError(t, files.CheckRegular(file))
	require.ErrorIs(t, files.CheckRegular(filepath.Join(dir, "none")), fs.ErrNotExist)
}

func TestAnErrorOfAStreamIsTold(t *testing.T) {
	_, err := files.All(iotest.TimeoutReader(strings.NewReader(strings.Repeat("x", 1<<20))), 2<<20)
	require.ErrorIs(t, err, iotest.ErrTimeout)
}
