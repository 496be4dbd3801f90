package worker

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/disk"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

func TestStoreKeepsWhatItWasGiven(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "berlin")
	x, err := loadIndex("berlin", s)
	require.NoError(t, err)
	require.False(t, x.known())
	_, err = x.accept(command(t, "berlin", api.Order{Term: 3}), nil, time.Unix(1, 0))
	require.NoError(t, err)
	body := []byte("hello")
	s.keepContent("aa", body)
	result := api.PlacementResult{Placement: "shop/web", UID: "u", Changed: metav1.NewTime(time.Unix(5, 0))}
	require.NoError(t, s.saveResult(result))
	require.NoError(t, s.saveResult(api.PlacementResult{Placement: "over"}))
	require.NoError(t, s.forgetResult("over"))
	require.NoError(t, s.forgetResult("over"))
	require.NoError(t, s.flush())
	require.NoError(t, s.close())

	s = open(t, dir, "berlin")
	x, err = loadIndex("berlin", s)
	require.NoError(t, err)
	require.True(t, x.known())
	require.Equal(t, api.Order{Term: 3}, x.order())
	cached, err := s.content("aa")
	require.NoError(t, err)
	require.Equal(t, body, cached)
	require.NoError(t, s.dropContent("aa"))
	require.NoError(t, s.dropContent("aa"))
	_, err = s.content("aa")
	require.ErrorIs(t, err, fs.ErrNotExist)
	results := s.loadResults()
	require.Len(t, results, 1)
	require.True(t, sameResult(result, results["shop/web"]))
	require.True(t, result.Changed.Equal(new(results["shop/web"].Changed)))
}

// A program that is being started has a copy of every file until it is executed: a store that was closed is free all the same.
func TestAStoreIsUnlockedWithItsCopies(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "berlin")
	fd, err := syscall.Dup(int(s.lock.Fd()))
	require.NoError(t, err)
	copied := os.NewFile(uintptr(fd), "copy")
	t.Cleanup(func() { require.NoError(t, copied.Close()) })
	require.NoError(t, s.close())
	again := open(t, dir, "berlin")
	require.NoError(t, again.close())
}

func TestStoreBelongsToOneAgentOfOneMember(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "berlin")
	_, err := openStore(dir, "berlin", elsewhen.Now)
	require.ErrorContains(t, err, "in use by another agent")
	require.NoError(t, s.close())
	_, err = openStore(dir, "paris", elsewhen.Now)
	require.ErrorContains(t, err, "belongs to member berlin, not paris")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{"version":9,"member":"berlin"}`), 0o600))
	_, err = openStore(dir, "berlin", elsewhen.Now)
	require.ErrorContains(t, err, "has version 9, this agent reads up to 4")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{"version":1,"member":"berlin"}`), 0o600))
	_, err = openStore(dir, "berlin", elsewhen.Now)
	require.ErrorContains(t, err, "made by an older agent, which kept its memory otherwise; move it away")
}

// What a kill left half written is removed, and what cannot be read is never taken for the truth: a result is made anew,
// an index that cannot be read is not an empty one.
func TestStoreSurvivesWhatIsHalfWritten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "berlin")
	require.NoError(t, s.saveResult(api.PlacementResult{Placement: "web"}))
	require.NoError(t, s.journal.Put(resultPrefix+"torn", []byte("not sealed"), elsewhen.Now()))
	require.NoError(t, s.journal.Put(indexName, []byte("not sealed"), elsewhen.Now()))
	require.NoError(t, s.close())
	half := filepath.Join(dir, disk.Temporary+"1")
	require.NoError(t, os.WriteFile(half, []byte("x"), 0o600))

	s = open(t, dir, "berlin")
	require.NoFileExists(t, half)
	require.Len(t, s.loadResults(), 1)
	_, err := loadIndex("berlin", s)
	require.ErrorContains(t, err, "reading index in "+filepath.Join(dir, "journal"))
	require.NoError(t, s.close())

	text, err := os.ReadFile(filepath.Join(dir, "journal"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "placement", "results are sealed")
}

// Content of before an hour goes when nothing needs it, by the clock of the agent.
func TestSweepKeepsWhatIsInUseOrYoung(t *testing.T) {
	now := elsewhen.Now()
	s, err := openStore(t.TempDir(), "berlin", func() time.Time { return now })
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.close() })
	s.keepContent("used", []byte("used"))
	s.keepContent("old", []byte("old"))
	now = now.Add(time.Hour)
	s.keepContent("young", []byte("young"))
	old := func(written time.Time) bool { return now.Sub(written) > time.Minute }
	require.NoError(t, s.sweep(map[string]bool{"used": true}, old))
	for text, kept := range map[string]bool{"used": true, "old": false, "young": true} {
		_, err := s.content(text)
		require.Equal(t, kept, err == nil, text)
	}
}

// What a placement was read with last stays, though no index names it: it is needed until what was sealed anew is there.
func TestSweepKeepsWhatAPlacementWasReadWith(t *testing.T) {
	h := newHub(t)
	w := newWorker(t, h, newMember(t, 0), t.TempDir())
	long := elsewhen.Now().Add(-time.Hour)
	for _, at := range []string{"read", "unused"} {
		require.NoError(t, w.store.journal.Put(contentPrefix+at, []byte(at), long))
	}
	w.shelf.read["web"] = readWork{digest: "work", piece: api.Piece{At: "read"}}
	w.housekeep(t.Context())
	_, err := w.store.content("read")
	require.NoError(t, err)
	_, err = w.store.content("unused")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, w.store.close())
}

func open(t *testing.T, dir, member string) *diskStore {
	t.Helper()
	s, err := openStore(dir, member, elsewhen.Now)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.close() })
	return s
}
