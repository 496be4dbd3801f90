package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordings are all files, with the test of each and a reader that keeps nothing.
var recordings = map[string]struct {
	test func(*testing.T)
	read func(dir string) error
}{
	placementRecording:     {TestPlacement, reads[placementCase](placementRecording)},
	budgetsRecording:       {TestBudgets, reads[budgetCase](budgetsRecording)},
	consolidationRecording: {TestConsolidation, reads[consolidationCase](consolidationRecording)},
	"windows.jsonl.gz":     {TestWindows, reads[windowCase]("windows.jsonl.gz")},
	"versions.jsonl.gz":    {TestVersions, reads[versionCase]("versions.jsonl.gz")},
	"runs.jsonl.gz":        {TestRuns, reads[runCase]("runs.jsonl.gz")},
}

func reads[T any](name string) func(string) error {
	return func(dir string) error {
		_, err := readRecording[T](dir, name)
		return err
	}
}

// raw reads a recording of the repository as it stands.
func raw(t *testing.T, name string) []map[string]any {
	t.Helper()
	cases, err := readRecording[map[string]any](ownRecordings, name)
	require.NoError(t, err)
	return cases
}

// Other data of the same form is what these tests are for: cases that nobody here has numbered, in any order,
// in a folder of somebody else's.
func TestAFolderOfOtherCases(t *testing.T) {
	dir := t.TempDir()
	for name := range recordings {
		cases := raw(t, name)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
		for i := range cases {
			cases[i]["id"] = fmt.Sprintf("other-%d", i)
		}
		writeRecording(t, filepath.Join(dir, name), cases)
	}
	t.Setenv("CONFORMANCE_DIR", dir)
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		t.Run(name, recordings[name].test)
	}
}

// A field that a reader does not know fails, wherever it stands, and its case is named.
func TestUnknownFieldIsRefused(t *testing.T) {
	for name, recording := range recordings {
		for field, put := range map[string]func(map[string]any){
			"surprise": func(c map[string]any) { c["surprise"] = 1 },
			"ID":       func(c map[string]any) { c["ID"] = "another spelling" },
			"deeper":   func(c map[string]any) { innermost(c)["deeper"] = true },
		} {
			t.Run(name+" "+field, func(t *testing.T) {
				cases := raw(t, name)[:3]
				put(cases[1])
				dir := t.TempDir()
				writeRecording(t, filepath.Join(dir, name), cases)
				err := recording.read(dir)
				require.ErrorContains(t, err, fmt.Sprintf("case %s: ", cases[1]["id"]))
				require.ErrorContains(t, err, field)
				require.ErrorContains(t, err, name)
				require.NotContains(t, err.Error(), fmt.Sprintf("case %s: ", cases[0]["id"]))
			})
		}
	}
}

// innermost is an object of a case's input that lies in another one.
func innermost(c map[string]any) map[string]any {
	for _, key := range []string{"instanceTypes", "clusters", "members"} {
		if list, ok := c[key].([]any); ok {
			return list[0].(map[string]any)
		}
	}
	for _, key := range []string{"schedule", "input", "want"} {
		if inner, ok := c[key].(map[string]any); ok {
			return inner
		}
	}
	return c
}

func TestRecordingThatIsNoneIsRefused(t *testing.T) {
	for name, recording := range recordings {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := recording.read(dir)
			require.ErrorIs(t, err, os.ErrNotExist)
			require.ErrorContains(t, err, "CONFORMANCE_DIR")

			require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
			require.ErrorContains(t, recording.read(dir), "reading "+name)

			writeRecording(t, filepath.Join(dir, name), nil)
			require.ErrorContains(t, recording.read(dir), name+" holds no case")

			twice := raw(t, name)[:1]
			writeRecording(t, filepath.Join(dir, name), append(twice, twice...))
			require.ErrorContains(t, recording.read(dir), "stands in line 1 too")

			delete(twice[0], "id")
			writeRecording(t, filepath.Join(dir, name), twice)
			require.ErrorContains(t, recording.read(dir), "without an id")
		})
	}
}

// A budget's document is read where it is judged: what it does not know is refused there.
func TestUnknownFieldOfABudgetFails(t *testing.T) {
	c := budgetCase{ID: "x", Disruption: []byte(`{"budgets":[{"nodes":"1","surprise":true}]}`)}
	_, err := c.pool()
	require.ErrorContains(t, err, `unknown field "budgets[0].surprise"`)
}

func TestSummaryCountsAndNames(t *testing.T) {
	line := summary("placement", []outcome{
		{id: "1"},
		{id: "2", decision: "D2", differences: []string{"x"}},
		{id: "4", decision: "D1", differences: []string{"x"}},
		{id: "3", decision: "D1", differences: []string{"x"}},
		{id: "5", decision: "D1"},
		{id: "6", differences: []string{"x"}},
	})
	require.Equal(t, "placement: 6 cases, 2 agree, 3 by decision (D1 3 4, D2 2)", line)
	require.Equal(t, "windows: 1 cases, 1 agree, 0 by decision", summary("windows", []outcome{{id: "1"}}))
}

// byDecision are outcomes of which the first ones are explained.
func byDecision(n, of int) []outcome {
	out := make([]outcome, of)
	for i := range out {
		out[i].id = fmt.Sprint(i)
		if i < n {
			out[i].decision, out[i].differences = "N9", []string{"x"}
		}
	}
	return out
}

func TestDecisionsExplainAShareOfOtherData(t *testing.T) {
	require.Empty(t, exceededShare(byDecision(3, 5)), "three cases of a small file")
	require.Empty(t, exceededShare(byDecision(8, 100)))
	require.Len(t, exceededShare(byDecision(9, 100)), 1)
	require.Len(t, exceededShare(byDecision(4, 49)), 1)
}

func TestDecisionsExplainWhatIsGranted(t *testing.T) {
	require.Empty(t, grants{"N9": {most: 3}}.exceeded(byDecision(3, 5)))
	require.Len(t, grants{"N9": {most: 2}}.exceeded(byDecision(3, 5)), 1)
	require.Len(t, grants{}.exceeded(byDecision(1, 5)), 1, "a decision that is granted nothing")
	require.Empty(t, grants{"N9": {cases: []string{"0", "1"}}}.exceeded(byDecision(1, 5)))
	over := grants{"N9": {cases: []string{"0"}}}.exceeded(byDecision(2, 5))
	require.Len(t, over, 1)
	require.True(t, strings.HasSuffix(over[0], "N9 explains 0 1, the specification grants 0"), over[0])
}
