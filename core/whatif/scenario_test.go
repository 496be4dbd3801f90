package whatif_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/sim"
	"flotilla/core/whatif"
)

var update = flag.Bool("update", false, "rewrite the outputs in testdata")

// The parts of a scenario file, below sentences on what it proves: the members and placements that are there, what is asked in one
// line as on the command line, the documents that are added, if any, and the text of the answer.
const (
	fleetMark  = "-- fleet --\n"
	askedMark  = "-- asked --\n"
	addedMark  = "-- added --\n"
	outputMark = "-- output --\n"
)

// TestScenarios answers the question of every scenario and compares with the recorded text.
func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			given, want, found := strings.Cut(string(text), outputMark)
			require.True(t, found, "no output")
			got := answered(t, given)
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(given+outputMark+got), 0o600))
				return
			}
			require.Equal(t, want, got)
		})
	}
}

// answered is the text of the answer, or what is wrong with the question.
func answered(t *testing.T, given string) string {
	t.Helper()
	prose, rest, _ := strings.Cut(given, fleetMark)
	require.NotEmpty(t, strings.TrimSpace(prose), "a scenario says what it proves")
	rest, added, _ := strings.Cut(rest, addedMark)
	fleet, asked, found := strings.Cut(rest, askedMark)
	require.True(t, found, "nothing is asked")
	in := standingFleet(t, fleet)
	if faults := in.Add(documents(t, added)); len(faults) > 0 {
		return faults.Error() + "\n"
	}
	q, wide := question(t, &in, asked)
	var err error
	in.Without, err = q.Leaving(in.Joined(), func(member string) string {
		if strings.HasPrefix(member, "wiped") {
			return api.WhenLeavingDelete
		}
		return api.WhenLeavingRetain
	})
	if err != nil {
		return err.Error() + "\n"
	}
	answer := whatif.Build(in)
	body, err := json.Marshal(answer.Totals)
	require.NoError(t, err)
	text := answer.Text(wide) + fmt.Sprintf("totals %s, differs %v\n", body, answer.Differs())
	if answer.LeftOut > 0 {
		text += fmt.Sprintf("left out %d\n", answer.LeftOut)
	}
	for _, note := range answer.Notes {
		text += "note: " + note + "\n"
	}
	return text
}

// question reads the line that is asked.
func question(t *testing.T, in *whatif.Input, asked string) (q whatif.Question, wide bool) {
	t.Helper()
	for word := range strings.FieldsSeq(asked) {
		flag, value, _ := strings.Cut(word, "=")
		switch flag {
		case "--without":
			q.Without = append(q.Without, value)
		case "--without-label":
			q.WithoutLabel = value
		case "--wide":
			wide = true
		case "--rows":
			_, err := fmt.Sscan(value, &in.MaxRows)
			require.NoError(t, err)
		default:
			require.Fail(t, "unknown", word)
		}
	}
	return q, wide
}

// standingFleet is the fleet of documents that are there already.
func standingFleet(t *testing.T, text string) whatif.Input {
	t.Helper()
	fleet := whatif.Input{Now: sim.Now}
	require.Empty(t, fleet.Add(documents(t, text)))
	in := whatif.Input{Now: sim.Now, Members: fleet.Added}
	for i := range fleet.Subjects {
		s := whatif.Subject{Known: true}
		s.Placement = *fleet.Subjects[i].Next
		in.Subjects = append(in.Subjects, s)
	}
	return in
}

func documents(t *testing.T, text string) []json.RawMessage {
	t.Helper()
	var out []json.RawMessage
	for part := range strings.SplitSeq(text, "---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		body, err := yaml.YAMLToJSON([]byte(part))
		require.NoError(t, err)
		out = append(out, body)
	}
	return out
}
