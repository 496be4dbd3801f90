package conformance

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/schedule"
)

// A comparison that cannot fail proves nothing: each part of an expectation, turned, must be noticed
// in every case that has it, and name the cluster.
func TestTurnedPlacementIsNoticed(t *testing.T) {
	turns := map[string]func(*recordedPlacement) (cluster string, turned bool){
		"a pick more": func(e *recordedPlacement) (string, bool) {
			e.Selected = append(e.Selected, recordedDecision{Cluster: "turned"})
			return "turned", true
		},
		"a pick less": func(e *recordedPlacement) (string, bool) {
			if len(e.Selected) == 0 {
				return "", false
			}
			cluster := e.Selected[0].Cluster
			e.Selected = e.Selected[1:]
			return cluster, true
		},
		"an affinity score": func(e *recordedPlacement) (string, bool) {
			if len(e.Selected) == 0 || e.Selected[0].Affinity == nil {
				return "", false
			}
			e.Selected[0].Affinity = new(*e.Selected[0].Affinity + 1)
			return e.Selected[0].Cluster, true
		},
		"an absent score": func(e *recordedPlacement) (string, bool) {
			if len(e.Selected) == 0 || e.Selected[0].Spread == nil {
				return "", false
			}
			e.Selected[0].Spread = nil
			return e.Selected[0].Cluster, true
		},
		"fulfilled": func(e *recordedPlacement) (string, bool) {
			e.Fulfilled = !e.Fulfilled
			return "fulfilled", true
		},
		"a reason": func(e *recordedPlacement) (string, bool) {
			if len(e.NotSelected) == 0 {
				return "", false
			}
			e.NotSelected[0].Reason = turnedReason(e.NotSelected[0].Reason)
			return e.NotSelected[0].Cluster, true
		},
		"the scores of a refusal": func(e *recordedPlacement) (string, bool) {
			if len(e.NotSelected) == 0 || e.NotSelected[0].Affinity == nil {
				return "", false
			}
			e.NotSelected[0].Affinity = new(*e.NotSelected[0].Affinity - 1)
			return e.NotSelected[0].Cluster, true
		},
	}
	for name, turn := range turns {
		t.Run(name, func(t *testing.T) {
			cases, err := readRecording[placementCase]("testdata", placementRecording)
			require.NoError(t, err)
			noticed := 0
			for i := range cases {
				c := &cases[i]
				plan := schedule.Schedule(c.input())
				if len(c.compare(placedBy(&plan))) > 0 {
					continue
				}
				if cluster, turned := turn(&c.Expected); turned {
					require.Contains(t, strings.Join(c.compare(placedBy(&plan)), "\n"), cluster, "case %s", c.ID)
					noticed++
				}
			}
			require.Greater(t, noticed, 10)
		})
	}
}

func turnedReason(reason string) string {
	if strings.Contains(reason, "cannot be tolerated") {
		return "topology spread constraint"
	}
	return "cannot be tolerated"
}

// The whole way of a turned recording: read from another directory, reported under its case's id.
func TestTurnedRecordingFailsNamingTheCase(t *testing.T) {
	cases, err := readRecording[map[string]any]("testdata", placementRecording)
	require.NoError(t, err)
	expected := cases[0]["expected"].(map[string]any)
	expected["fulfilled"] = !expected["fulfilled"].(bool)
	dir := t.TempDir()
	writeRecording(t, filepath.Join(dir, placementRecording), cases[:2])

	turned, err := readRecording[placementCase](dir, placementRecording)
	require.NoError(t, err)
	first, second := judgePlacement(t, &turned[0]), judgePlacement(t, &turned[1])
	require.True(t, first.failed())
	require.Equal(t, cases[0]["id"], first.id)
	require.Equal(t, []string{"fulfilled: here true, recorded false"}, first.differences)
	require.False(t, second.failed())
}

func writeRecording(t *testing.T, path string, cases []map[string]any) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	zipped := gzip.NewWriter(file)
	encoder := json.NewEncoder(zipped)
	for _, c := range cases {
		require.NoError(t, encoder.Encode(c))
	}
	require.NoError(t, zipped.Close())
	require.NoError(t, file.Close())
}
