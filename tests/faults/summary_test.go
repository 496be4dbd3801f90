package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// results are campaigns that held, that broke promises, and that did not come to their end.
func results() []Result {
	history := func(acknowledged int, gone ...string) *History {
		h := &History{Writes: make([]Write, acknowledged+1), Losses: []Loss{{Objects: gone}, {Objects: gone}}}
		for i := range acknowledged {
			h.Writes[i].Outcome = Acknowledged
		}
		return h
	}
	return []Result{
		{Name: "single-1", Again: "repeat 1", Faults: []string{"kill hub", "kill hub", "flip hub"}, History: history(10, "a", "b")},
		{
			Name: "single-3", Again: "repeat 3", Faults: []string{"kill hub", "cut clients"}, History: history(20), Failed: true,
			Broken: []Violation{{Rule: Doubled}, {Rule: Doubled}, {Rule: Backwards}, {Rule: Lost}, {Rule: Unnoticed}, {Rule: Phantom}, {Rule: NotConverged}},
		},
		{Name: "cluster-2", Again: "repeat 2", Faults: []string{"stop server"}, Failed: true},
		{Name: "single-5", Again: "repeat 5", Faults: []string{"cut clients"}, History: history(1), Failed: true},
	}
}

func TestASummaryAddsUpByFault(t *testing.T) {
	var s Summary
	var lines []string
	for _, r := range results() {
		lines = append(lines, s.Add(r))
	}
	require.Equal(t, []string{
		"1: single-1 held",
		"2: single-3 FAILED: backwards 1, doubled 2, lost 1, notConverged 1, phantom 1, unnoticed 1",
		"3: cluster-2 FAILED: it did not come to its end",
		"4: single-5 FAILED: no promise was broken that is checked afterwards; its log says more",
	}, lines)
	report := s.Report(75*time.Second, []string{"cut clients", "flip hub", "tear hub", "end agent"})
	table, rest, _ := strings.Cut(report, "\nNot drawn")
	require.Equal(t, `
BROKEN: 4 campaigns in 1m15s, 3 failed; 2 doubled, 1 backwards, 2 lost unnoticed, 2 other breaks

        fault  times  campaigns  failed  acknowledged  doubled  backwards  lost unnoticed  other breaks  named gone
  cut clients      2          2       2            21        2          1               2             2           0
     flip hub      1          1       0            10        0          0               0             0           2
     kill hub      3          2       1            30        2          1               2             2           2
  stop server      1          1       1             0        0          0               0             0           0
          all      7          4       3            31        2          1               2             2           2
`, table)
	require.True(t, strings.HasPrefix(rest, " this time: tear hub, end agent.\n"), rest)
	require.True(t, strings.HasSuffix(rest, `
Failed, and how to repeat each:
  cluster-2 FAILED: it did not come to its end
    repeat 2
  single-3 FAILED: backwards 1, doubled 2, lost 1, notConverged 1, phantom 1, unnoticed 1
    repeat 3
  single-5 FAILED: no promise was broken that is checked afterwards; its log says more
    repeat 5
`), rest)
}

func TestASummaryOfWhatHeld(t *testing.T) {
	var s Summary
	require.Empty(t, s.Report(time.Second, nil))
	s.Add(results()[0])
	report := s.Report(time.Second, nil)
	require.True(t, strings.HasPrefix(report, "\nHELD: 1 campaigns in 1s, 0 failed; 0 doubled, 0 backwards, 0 lost unnoticed, 0 other breaks\n"), report)
	require.NotContains(t, report, "Failed, and")
	require.NotContains(t, report, "Not drawn")
}

// Every fault has a kind of its own that names no single process.
func TestKindsOfFaults(t *testing.T) {
	require.Equal(t, []string{
		"cut agents", "cut clients", "delay agents", "delay clients", "double agents", "double clients", "end agent", "end hub", "end server",
		"flip hub", "flip server", "forget agents", "forget clients", "kill agent", "kill hub", "kill server", "older hub", "stop agent", "stop hub",
		"stop server", "tear hub",
	}, kinds())
}
