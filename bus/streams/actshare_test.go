package streams

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a person did counts for a day, by the hour; it is known from when on it is little enough.
func TestWhatAPersonDidCountsForADay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 10, 30, 0, 0, time.UTC)
	var acts actShares
	holds := func(want int64, until string) {
		t.Helper()
		bytes, over := acts.held("olga", 100, now)
		require.Equal(t, want, bytes)
		if until == "" {
			require.Zero(t, over)
			return
		}
		require.Equal(t, until, over.UTC().Format(time.RFC3339))
	}
	holds(0, "")
	acts.add("olga", 60, now)
	acts.add("ines", 1000, now)
	holds(60, "")
	now = now.Add(3 * time.Hour)
	acts.add("olga", 40, now)
	holds(100, "")
	acts.add("olga", 30, now)
	holds(130, "2026-03-02T10:00:00Z")
	acts.add("olga", 70, now)
	holds(200, "2026-03-02T13:00:00Z")
	now = now.Add(20*time.Hour + 29*time.Minute)
	holds(200, "2026-03-02T13:00:00Z")
	now = now.Add(time.Minute)
	holds(140, "2026-03-02T13:00:00Z")
	now = now.Add(3 * time.Hour)
	holds(0, "")
	acts.add("olga", 10, now)
	now = now.Add(1000 * time.Hour)
	holds(0, "")
}
