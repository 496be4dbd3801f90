package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/subjects"
)

var update = flag.Bool("update", false, "write golden files")

func TestQuantilesAreOfWhatWasSeen(t *testing.T) {
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(100-i)*time.Second)
	}
	require.Equal(t, Quantiles{100, 50, 90, 99, 100}, quantilesOf(took))
	require.Equal(t, Quantiles{1, 5, 5, 5, 5}, quantilesOf([]time.Duration{5 * time.Second}))
	require.Zero(t, quantilesOf(nil))
	require.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 1.5, median([]float64{2, 1}), 0)
	require.Zero(t, median(nil))
}

func TestTrafficBetweenTwoMoments(t *testing.T) {
	before := Traffic{Sent: map[string]Count{"state": {5, 50}, "result": {1, 1}}, Hints: Count{1, 10}, Stored: map[string]float64{"state": 7}}
	now := Traffic{Sent: map[string]Count{"state": {8, 90}, "result": {1, 1}, "content": {1, 2}}, Hints: Count{3, 30}, Stored: map[string]float64{"state": 9, "result": 1}}
	d := now.since(before)
	require.Equal(t, map[string]Count{"state": {3, 40}, "content": {1, 2}}, d.Sent)
	require.Equal(t, Count{2, 20}, d.Hints)
	require.Equal(t, map[string]float64{"state": 2, "result": 1}, d.Stored)
	require.Equal(t, Count{3, 40}, sum(d.Sent, "content"))
	require.InDelta(t, 2, sum(d.Sent, "state").each(), 0)
	require.Zero(t, Count{}.each())
}

func TestSeriesOfAPage(t *testing.T) {
	page := "# TYPE flotilla_room_runs_total counter\nflotilla_room_runs_total{of=\"placement\",room=\"scheduler\"} 12\n" +
		"flotilla_room_runs_total_other{of=\"x\"} 1\nflotilla_leading 1\n"
	require.Equal(t, map[string]float64{`of="placement",room="scheduler"`: 12}, lines(page, "flotilla_room_runs_total"))
}

func TestAPlacementIsAvailableWhenAllHoldTheNewest(t *testing.T) {
	p := &placement{members: 3, writes: 2}
	whole := api.PlacementStatus{ObservedSnapshot: "2", Counts: api.PlacementCounts{Picked: 3, Current: 3, Available: 3}}
	require.True(t, p.available(&whole))
	require.False(t, p.available(nil))
	for _, change := range []func(*api.PlacementStatus){
		func(s *api.PlacementStatus) { s.ObservedSnapshot = "1" },
		func(s *api.PlacementStatus) { s.Counts.Picked = 4 },
		func(s *api.PlacementStatus) { s.Counts.Current = 2 },
		func(s *api.PlacementStatus) { s.Counts.Available = 2 },
		func(s *api.PlacementStatus) { s.Counts.Failed = 1 },
	} {
		other := whole
		change(&other)
		require.False(t, p.available(&other), "%+v", other)
	}
}

func TestTheSameContentForTheSameNumbers(t *testing.T) {
	first := noise(1, 2)
	require.Equal(t, first, noise(1, 2))
	require.NotEqual(t, noise(1, 2), noise(1, 3))
	require.NotEqual(t, noise(1, 2), noise(2, 2))
	require.Len(t, noise(1, 2), content)
}

// A profile of this process is nearly all of this package, which burns; what is asked of other packages is less.
func TestPartsOfAProfile(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&text))
	before, err := figuresNow()
	require.NoError(t, err)
	for used := 0.0; used < 0.3; {
		used = burn(before.CPU)
	}
	pprof.StopCPUProfile()
	p, err := parseProfile(text.Bytes())
	require.NoError(t, err)
	within, all := p.within("flotilla/tests/scale.")
	require.Greater(t, all, 0.1e9)
	require.Greater(t, within, all/2)
	none, _ := p.within(targetPackage)
	require.Zero(t, none)
	_, err = parseProfile(text.Bytes()[:text.Len()/2])
	require.Error(t, err)
	_, err = parseProfile([]byte("no profile"))
	require.Error(t, err)
}

//go:noinline
func burn(since float64) float64 {
	sum := 0.0
	for i := range 1000000 {
		sum += math.Sqrt(float64(i))
	}
	now, err := figuresNow()
	if err != nil || sum < 0 {
		return math.Inf(1)
	}
	return now.CPU - since
}

func TestReport(t *testing.T) {
	r := Report{Scale: 0.5, Machine: Machine{Cores: 2, Processor: "A <fast> one", MemoryGiB: 24, System: "linux/amd64", Go: "go1.26", Commit: "abc", Load: "0.10"}}
	for _, cpu := range []float64{1, 3, 2} {
		many := &Measured{
			Scenario: "some", Folders: inMemory, Step: "many & more", Members: 100, Deliveries: 1000, Wall: 10 * cpu, Span: 12,
			Latency: Quantiles{10, 0.1, 0.2, 0.3, 0.4}, Hub: Figures{CPU: cpu, Allocated: 1 << 20}, Agents: Figures{CPU: 2 * cpu, Target: cpu / 2},
			Traffic: Traffic{
				Sent:  map[string]Count{subjects.State: {2000, 100000}, subjects.Heartbeat: {5, 10}, subjects.Commands: {1000, 50000}},
				Asked: map[string]Count{subjects.Commands: {1000, 9000}}, Read: map[string]Count{subjects.Commands: {1000, 60000}},
			},
			Runs: map[string]float64{schedulerRuns: 20},
			Raw:  &Raw{Deliveries: 100, Latency: Quantiles{P50: 0.05}, Hub: Figures{CPU: 0.02}, Agents: Figures{CPU: 0.03}},
		}
		rest := &Measured{Scenario: "some", Folders: onDisk, Step: "quiet", Members: 100, Span: 30, Hub: Figures{CPU: cpu, RSS: 512 * mebi}, Agents: Figures{RSS: 500 * mebi, Goroutines: 8000}}
		back := &Measured{Scenario: "some", Folders: onDisk, Step: "killed", Members: 100, Deliveries: 10, Ready: cpu, First: 2 * cpu, Wall: 3 * cpu, Traffic: Traffic{Stored: map[string]float64{subjects.Result: 7}}}
		r.Runs = append(r.Runs, []*Measured{many, rest, back})
	}
	text := r.tables()
	if *update {
		require.NoError(t, os.WriteFile("testdata/fleet.md", []byte(text), 0o600))
	}
	golden, err := os.ReadFile("testdata/fleet.md")
	require.NoError(t, err)
	require.Equal(t, string(golden), text)

	folder := t.TempDir()
	require.NoError(t, r.write(folder))
	picture, err := os.ReadFile(folder + "/fleet.svg")
	require.NoError(t, err)
	for decoder := xml.NewDecoder(bytes.NewReader(picture)); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Contains(t, string(picture), "some, many &amp; more, folders in memory")
	require.Equal(t, 1, strings.Count(string(picture), `text-anchor="end"`), "what delivers alone")
}
