package conformance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestRuns(t *testing.T) {
	cases, agree := updatesCases[runCase](t, "runs.jsonl.gz"), 0
	for i := range cases {
		c := &cases[i]
		var want map[string]any
		require.NoError(t, json.Unmarshal(c.Want, &want), c.ID)
		got := plain(t, c.answer(t))
		c.ignore(want, got)
		if diff := runDiff(want, got); diff != "" {
			t.Errorf("%s (%s), compared %s: want -, got +\n%s", c.ID, c.Note, c.Compare, diff)
			continue
		}
		agree++
	}
	t.Logf("runs: %d cases, %d agree", len(cases), agree)
}

// plain brings an answer into the form that decoding JSON gives.
func plain(t *testing.T, answer map[string]any) map[string]any {
	t.Helper()
	packed, err := json.Marshal(answer)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(packed, &out))
	return out
}

// runDiff compares events as lines and everything else as a tree.
func runDiff(want, got map[string]any) string {
	lines := cmp.Diff(strings.Split(eventLines(want), "\n"), strings.Split(eventLines(got), "\n"))
	delete(want, "events")
	delete(got, "events")
	return lines + cmp.Diff(want, got)
}
