package worker

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

const killedDirectory = "FLOTILLA_TEST_KILLED_DIRECTORY"

// A killed agent leaves the last command it said it had, or the one it was writing, whole; and none of
// the files it was in the middle of.
func TestStoreSurvivesSIGKILL(t *testing.T) {
	if dir := os.Getenv(killedDirectory); dir != "" {
		writeUntilKilled(t, dir)
	}
	dir := t.TempDir()
	said := uint64(0)
	for range 5 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		child.Env = append(os.Environ(), killedDirectory+"="+dir)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines := bufio.NewScanner(out)
		for begun := said; said < begun+50 && lines.Scan(); {
			said, err = strconv.ParseUint(lines.Text(), 10, 64)
			require.NoError(t, err)
		}
		require.NoError(t, child.Process.Kill())
		for lines.Scan() {
			if n, err := strconv.ParseUint(lines.Text(), 10, 64); err == nil {
				said = n
			}
		}
		require.Error(t, child.Wait(), "killed")

		s := open(t, dir, "berlin")
		x, err := loadIndex("berlin", s)
		require.NoError(t, err)
		require.True(t, x.known())
		found := x.order().Generation
		require.GreaterOrEqual(t, found, said)
		require.LessOrEqual(t, found, said+1)
		require.Len(t, x.placements(), 100)
		_, err = s.content(fmt.Sprint(said))
		require.NoError(t, err)
		require.GreaterOrEqual(t, s.loadResults()["web"].Snapshot, int64(said))
		left, err := filepath.Glob(filepath.Join(dir, disk.Temporary+"*"))
		require.NoError(t, err)
		require.Empty(t, left)
		said = found
		require.NoError(t, s.close())
	}
}

// writeUntilKilled writes one command after the other and says the number of each that is written.
func writeUntilKilled(t *testing.T, dir string) {
	t.Helper()
	s := open(t, dir, "berlin")
	x, err := loadIndex("berlin", s)
	require.NoError(t, err)
	entries := make([]api.IndexEntry, 100)
	for i := range entries {
		entries[i] = api.IndexEntry{Placement: strconv.Itoa(i), UID: "u", Work: "w"}
	}
	for n := x.order().Generation + 1; ; n++ {
		s.keepContent(strconv.FormatUint(n, 10), []byte("sealed"))
		require.NoError(t, s.saveResult(api.PlacementResult{Placement: "web", Snapshot: int64(n)}))
		_, err := x.accept(command(t, "berlin", api.Order{Generation: n}, entries...), nil, elsewhen.Now())
		require.NoError(t, err)
		fmt.Println(n)
	}
}
