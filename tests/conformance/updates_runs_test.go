package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestRuns(t *testing.T) {
	cases := casesOf[runCase](t, "runs.jsonl.gz")
	report(t, "runs", judgeEach(cases, func(c *runCase) outcome { return judgeRun(t, c) }), nil)
}

func judgeRun(t *testing.T, c *runCase) outcome {
	t.Helper()
	var want map[string]any
	require.NoError(t, json.Unmarshal(c.Want, &want), c.ID)
	got := plain(t, c.answer(t))
	c.ignore(want, got)
	o := outcome{id: c.ID}
	if diff := runDiff(want, got); diff != "" {
		o.differences = []string{fmt.Sprintf("(%s), compared %s: want -, got +\n%s", c.Note, c.Compare, diff)}
	}
	return o
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
