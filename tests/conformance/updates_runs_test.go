package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestRuns(t *testing.T) {
	cases := casesOf[runCase](t, "runs.jsonl.gz")
	report(t, "runs", judgeEach(cases, func(c *runCase) outcome { return judgeRun(t, c) }), grants{divided: {cases: []string{"r0820"}}})
}

func judgeRun(t *testing.T, c *runCase) outcome {
	t.Helper()
	var want map[string]any
	require.NoError(t, json.Unmarshal(c.Want, &want), c.ID)
	left := c.unserved()
	rest := c.without(left) // before the case is answered, which changes its catalog
	got := plain(t, c.answer(t))
	c.ignore(want, got)
	o, ended := outcome{id: c.ID}, ends(got)
	if diff := runDiff(want, got); diff != "" {
		o.differences = []string{fmt.Sprintf("(%s), compared %s: want -, got +\n%s", c.Note, c.Compare, diff)}
		if len(left) > 0 && leavesOut(left, ended) && cmp.Diff(ends(plain(t, rest.answer(t))), ended) == "" {
			o.decision = divided
		}
	}
	return o
}

// leavesOut reports whether members are skipped for want of an image, and takes them out of how all ended.
func leavesOut(left []string, ended map[string]map[string]any) bool {
	for _, name := range left {
		if end := ended[name]; end["state"] != string(api.StateSkipped) || end["reason"] != api.ReasonConsistentNotFound {
			return false
		}
		delete(ended, name)
	}
	return true
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
