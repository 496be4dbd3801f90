package worker

import (
	"io/fs"
	"os"
	"path/filepath"
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
	_, err = x.accept(command(t, "berlin", api.Order{Term: 3}), time.Unix(1, 0))
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
	results, err := s.loadResults()
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.True(t, sameResult(result, results["shop/web"]))
	require.True(t, result.Changed.Equal(new(results["shop/web"].Changed)))
}

func TestStoreBelongsToOneAgentOfOneMember(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "berlin")
	_, err := openStore(dir, "berlin")
	require.ErrorContains(t, err, "in use by another agent")
	require.NoError(t, s.close())
	_, err = openStore(dir, "paris")
	require.ErrorContains(t, err, "belongs to member berlin, not paris")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{"version":9,"member":"berlin"}`), 0o600))
	_, err = openStore(dir, "berlin")
	require.ErrorContains(t, err, "has version 9, this agent reads up to 3")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{"version":1,"member":"berlin"}`), 0o600))
	_, err = openStore(dir, "berlin")
	require.ErrorContains(t, err, "made by an older agent, which did not seal what it kept; move it away")
}

// A kill or a power failure leaves half-written files behind; none of them may be taken for the truth.
func TestStoreSurvivesHalfWrittenFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "berlin")
	require.NoError(t, s.saveResult(api.PlacementResult{Placement: "web"}))
	require.NoError(t, s.close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "results", "web.json"), []byte(`{"placement":"we`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "content", disk.Temporary+"1"), []byte("x"), 0o600))

	s = open(t, dir, "berlin")
	results, err := s.loadResults()
	require.NoError(t, err)
	require.Empty(t, results)
	left, err := os.ReadDir(filepath.Join(dir, "content"))
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.json"), []byte(`{"command":`), 0o600))
	_, err = loadIndex("berlin", s)
	require.ErrorContains(t, err, "index.json", "an index that cannot be read is not an empty one")
}

func TestSweepKeepsWhatIsInUseOrYoung(t *testing.T) {
	s := open(t, t.TempDir(), "berlin")
	for _, text := range []string{"used", "old", "young"} {
		s.keepContent(text, []byte(text))
	}
	require.NoError(t, s.flush())
	now := elsewhen.Now()
	for text, age := range map[string]time.Duration{"used": time.Hour, "old": time.Hour, "young": 0} {
		require.NoError(t, os.Chtimes(s.contentPath(text), now.Add(-age), now.Add(-age)))
	}
	old := func(written time.Time) bool { return now.Sub(written) > time.Minute }
	require.NoError(t, s.sweep(map[string]bool{"used": true}, old))
	for text, kept := range map[string]bool{"used": true, "old": false, "young": true} {
		_, err := s.content(text)
		require.Equal(t, kept, err == nil, text)
	}
}

func open(t *testing.T, dir, member string) *diskStore {
	t.Helper()
	s, err := openStore(dir, member)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.close() })
	return s
}
