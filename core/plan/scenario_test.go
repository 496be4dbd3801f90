package plan_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/upgrade"
)

var update = flag.Bool("update", false, "rewrite the outputs in testdata")

// A scenario file opens with what it proves, then holds YAML documents, then the expected output:
// what a person reads, and the picks and removals of the JSON.
const (
	inputMark  = "-- files --\n"
	outputMark = "-- output --\n"
)

// TestScenarios plans the files of every scenario at one moment, twice and with the documents in
// reverse order, and compares with the recorded output.
func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			prose, rest, found := strings.Cut(string(text), inputMark)
			require.True(t, found, "no files")
			require.NotEmpty(t, strings.TrimSpace(prose), "a scenario says what it proves")
			files, want, found := strings.Cut(rest, outputMark)
			require.True(t, found, "no output")

			docs := yamlDocuments(t, files)
			got := planned(t, docs)
			for i, j := 0, len(docs)-1; i < j; i, j = i+1, j-1 {
				docs[i], docs[j] = docs[j], docs[i]
			}
			require.Equal(t, got, planned(t, docs), "the order of documents does not matter")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(prose+inputMark+files+outputMark+got), 0o600))
				return
			}
			require.Equal(t, want, got)
		})
	}
}

func yamlDocuments(t *testing.T, text string) []plan.Document {
	t.Helper()
	var docs []plan.Document
	for part := range strings.SplitSeq(text, "---\n") {
		body, err := yaml.YAMLToJSON([]byte(part))
		require.NoError(t, err)
		docs = append(docs, plan.Document{JSON: body, Object: headOf(t, body)})
	}
	return docs
}

func headOf(t *testing.T, document []byte) api.ObjectRef {
	t.Helper()
	var head api.ObjectRef
	require.NoError(t, json.Unmarshal(document, &head))
	return head
}

func planned(t *testing.T, docs []plan.Document) string {
	t.Helper()
	c, faults := plan.Collect(docs)
	if len(faults) > 0 {
		return stripOrder(faults.Error())
	}
	in := plan.Input{
		Subjects: c.Subjects, Members: c.Members, Notes: c.Notes, Now: c.NewestBeat.Add(time.Minute),
		Runs: c.Upgrades.Runs,
	}
	in.Standings = c.Standings(in.Now, 0)
	var err error
	in.View, err = c.Upgrades.View(time.LoadLocation, in.Now, 0)
	require.NoError(t, err)
	remarks, err := c.Remarks(time.LoadLocation, in.Now)
	require.NoError(t, err)
	in.Notes = append(in.Notes, remarks...)
	in.Assume = c.Upgrades.Assumptions(in.View, upgrade.Assumptions{})
	in.ContentRuns = c.ContentRuns(in.View, in.Standings)
	answer := plan.Build(in)
	var b strings.Builder
	for _, n := range answer.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "%schanged: %v\n", answer.String(), answer.Changed())
	for _, p := range answer.Placements {
		picked, err := json.Marshal(p.Picked)
		require.NoError(t, err)
		removed, err := json.Marshal(p.Removed)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s %s fulfilled=%v\n  picked  %s\n  removed %s\n", p.Name, p.Type, p.Fulfilled, picked, removed)
	}
	for _, r := range answer.Runs {
		body, err := json.Marshal(r)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s\n", body)
	}
	return b.String()
}

// stripOrder sorts faults, which stand in the order of documents, and leaves out their places.
func stripOrder(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if at := strings.Index(line, " (scenario"); at >= 0 {
			line = line[:at] + line[strings.Index(line, ")")+1:]
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}
