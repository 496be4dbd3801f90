package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/subjects"
)

// TestMain makes the test binary a process of a fleet where the rig launches it as one.
func TestMain(m *testing.M) {
	if played, err := play(); played {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// shown writes to the log of a test.
type shown struct{ t *testing.T }

func (s shown) Write(text []byte) (int, error) {
	s.t.Log(string(text))
	return len(text), nil
}

// The short form of what `make bench-fleet` measures: every kind of step, on a small fleet, held against bars on what is counted.
func TestShortFleet(t *testing.T) {
	text, err := os.ReadFile("testdata/short.yaml")
	require.NoError(t, err)
	s, err := parseScenario(text)
	require.NoError(t, err)
	p := pass{folder: t.TempDir(), raw: true, out: shown{t}}
	measured, err := p.scenario(t.Context(), &s, onDisk)
	require.NoError(t, err)
	require.Len(t, measured, len(s.Steps))
	byName := map[string]*Measured{}
	for i, m := range measured {
		byName[m.Step] = m
		require.Positive(t, m.Hub.CPU, m.Step)
		require.Positive(t, m.Agents.CPU, m.Step)
		if bars := s.Steps[i].Bars; bars != nil {
			require.NoError(t, bars.over(m))
			tapHeardAll(t, m)
		}
	}
	require.Equal(t, 30*2, byName["tenths"].Deliveries)
	require.Equal(t, 2*20, byName["everywhere"].Deliveries)
	require.Equal(t, 2*30*2, byName["changes"].Deliveries)
	require.Equal(t, 4*2, byName["restart"].Deliveries)
	require.Equal(t, 60, byName["changes"].Latency.Count)
	require.Equal(t, byName["tenths"].Raw.Deliveries, byName["tenths"].Deliveries, "NATS alone did as much")
	require.Positive(t, byName["restart"].Ready)
	require.Greater(t, byName["restart"].First, byName["restart"].Ready)
	require.GreaterOrEqual(t, byName["churn"].Traffic.Sent[subjects.Heartbeat].Messages, 2.0*20, "members tell of nodes that come and go")
	require.Zero(t, byName["churn"].Deliveries)
}

// tapHeardAll holds what was heard against what streams took in. Both are counted while a fleet rests, but for heartbeats.
func tapHeardAll(t *testing.T, m *Measured) {
	t.Helper()
	for stream, stored := range m.Traffic.Stored {
		if stream != subjects.Heartbeat && stream != subjects.Lease {
			require.InDelta(t, stored, m.Traffic.Sent[stream].Messages, 2, "%s: %s", m.Step, stream)
		}
	}
	require.Less(t, m.Traffic.Sent[subjects.Commands].Messages, m.Traffic.In.Messages, m.Step)
}
