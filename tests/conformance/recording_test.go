package conformance

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordingDir is where the recordings lie.
func recordingDir() string {
	if dir := os.Getenv("CONFORMANCE_DIR"); dir != "" {
		return dir
	}
	return "testdata"
}

// readRecording decodes every case of a recording.
func readRecording[T any](dir, name string) ([]T, error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w (CONFORMANCE_DIR names another directory)", err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var cases []T
	lines := bufio.NewReader(unzipped)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var c T
			if err := json.Unmarshal(line, &c); err != nil {
				return nil, fmt.Errorf("decoding case %d of %s: %w", n, name, err)
			}
			cases = append(cases, c)
		}
		if err == io.EOF {
			return cases, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading case %d of %s: %w", n, name, err)
		}
	}
}

// outcome is how one case went.
type outcome struct {
	id          string
	decision    string   // of the specification, that explains the disagreement; empty for none
	differences []string // what the core answered otherwise, empty when it agrees
}

// failed reports whether the case disagrees without a decision that says why.
func (o outcome) failed() bool { return len(o.differences) > 0 && o.decision == "" }

// summary is the line that a recording's test prints.
func summary(recording string, outcomes []outcome) string {
	agree, explained := 0, 0
	ids := map[string][]string{}
	for _, o := range outcomes {
		switch {
		case len(o.differences) == 0:
			agree++
		case o.decision != "":
			explained++
			ids[o.decision] = append(ids[o.decision], o.id)
		}
	}
	var groups []string
	for decision, cases := range ids {
		slices.Sort(cases)
		groups = append(groups, decision+" "+strings.Join(cases, " "))
	}
	slices.Sort(groups)
	return fmt.Sprintf("%s: %d cases, %d agree, %d by decision (%s)",
		recording, len(outcomes), agree, explained, strings.Join(groups, ", "))
}

// report prints the summary and fails for every case that disagrees.
func report(t *testing.T, recording string, outcomes []outcome) {
	t.Helper()
	require.NotEmpty(t, outcomes, "%s holds no case", recording)
	fmt.Println(summary(recording, outcomes))
	for _, o := range outcomes {
		if o.failed() {
			t.Errorf("%s case %s:\n  %s", recording, o.id, strings.Join(o.differences, "\n  "))
		}
	}
}

// requireGranted bounds how many cases each decision may explain: disruption.md section 0 grants no
// more in the recorded files.
func requireGranted(t *testing.T, outcomes []outcome, granted map[string]int) {
	t.Helper()
	explained := map[string][]string{}
	for _, o := range outcomes {
		if o.decision != "" {
			explained[o.decision] = append(explained[o.decision], o.id)
		}
	}
	for decision, ids := range explained {
		require.LessOrEqual(t, len(ids), granted[decision], "%s explains more cases than the specification grants: %s", decision, ids)
	}
}

func TestMissingRecordingFails(t *testing.T) {
	_, err := readRecording[placementCase](t.TempDir(), "placement.jsonl.gz")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "CONFORMANCE_DIR")
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
}
