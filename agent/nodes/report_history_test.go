package nodes

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/core/api"
	"flotilla/core/nodesync"
	"flotilla/tests/elsewhen"
)

// What cannot be read is not known, and no reason not to work.
func TestWhatIsRememberedCannotBeRead(t *testing.T) {
	hub, m, folder := listen(t), poolMember(t, "n1"), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "seen.json"), []byte("{"), 0o600))
	var log bytes.Buffer
	o := hub.options(m)
	o.Log = zerolog.New(&log)
	w, err := newReporter(o, folder)
	require.NoError(t, err)
	require.Contains(t, log.String(), "seen.json")
	require.NoError(t, w.look(t.Context()))
	require.Len(t, w.sync.Keep(), 1)
}

// A reporter writes down what it remembers, at the latest when it ends, and goes on with that.
func TestAReporterWritesDownWhatItRemembers(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	folder := t.TempDir()
	put(t, m, web(2))
	_, stop := startWatch(t, hub.options(m), folder)
	n := hub.expect("n1", func(n *api.NodeState) bool { return len(n.Pods) == 2 })
	stop()
	kept := map[string]nodesync.Past{}
	require.NoError(t, disk.Read(filepath.Join(folder, "seen.json"), &kept))
	require.Equal(t, n.UID, kept["n1"].UID)
	require.NotZero(t, kept["n1"].Active)

	w, err := newReporter(hub.options(m), folder)
	require.NoError(t, err)
	require.NoError(t, w.look(t.Context()))
	require.Nil(t, w.sync.Keep(), "nothing happened meanwhile")
	e, due := w.sync.Event("n1")
	require.True(t, due)
	require.True(t, n.LastPodEvent.Equal(&e.Node.LastPodEvent))
}

// How often what is remembered is written: soon what the next process could not find out, rarer what it could.
func TestAReporterWritesDownWhatCannotWait(t *testing.T) {
	hub, m, folder := listen(t), poolMember(t, "n1"), t.TempDir()
	w, err := newReporter(hub.options(m), folder)
	require.NoError(t, err)
	now := elsewhen.Now()
	w.now = func() time.Time { return now }
	written := func() uint64 {
		w.write(false)
		kept := map[string]nodesync.Past{}
		require.NoError(t, disk.Read(filepath.Join(folder, "seen.json"), &kept))
		return kept["n1"].Active
	}
	look := func(pods int) {
		put(t, m, web(pods))
		require.NoError(t, w.look(t.Context()))
	}
	look(1)
	first := written()
	look(2)
	now = now.Add(writeEvery)
	require.Equal(t, first, written(), "a pod came")
	now = now.Add(writeAnyway - writeEvery)
	second := written()
	require.NotEqual(t, first, second)
	look(1)
	look(2)
	require.Equal(t, second, written(), "one more went, and came")
	now = now.Add(writeAnyway)
	require.NotEqual(t, second, written())
}
