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

	"flotilla/core/api"
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
		saved, have, err := s.loadCommand()
		require.NoError(t, err)
		require.True(t, have)
		require.GreaterOrEqual(t, saved.Command.Order.Generation, said)
		require.LessOrEqual(t, saved.Command.Order.Generation, said+1)
		require.Len(t, saved.Command.Entries, 100)
		_, err = s.content(hexDigest([]byte(fmt.Sprint(said))))
		require.NoError(t, err)
		for _, pattern := range []string{temporary + "*", "*/" + temporary + "*"} {
			left, err := filepath.Glob(filepath.Join(dir, pattern))
			require.NoError(t, err)
			require.Empty(t, left)
		}
		said = saved.Command.Order.Generation
		require.NoError(t, s.close())
	}
}

// writeUntilKilled writes one command after the other and says the number of each that is written.
func writeUntilKilled(t *testing.T, dir string) {
	t.Helper()
	s := open(t, dir, "berlin")
	saved, _, err := s.loadCommand()
	require.NoError(t, err)
	for i := range 100 {
		saved.Command.Entries = append(saved.Command.Entries[:i], api.IndexEntry{Placement: strconv.Itoa(i), UID: "u", Work: "w"})
	}
	for {
		saved.Command.Order.Generation++
		body := []byte(fmt.Sprint(saved.Command.Order.Generation))
		require.NoError(t, s.keepContent(hexDigest(body), body))
		require.NoError(t, s.flush())
		require.NoError(t, s.saveCommand(saved))
		fmt.Println(saved.Command.Order.Generation)
	}
}
