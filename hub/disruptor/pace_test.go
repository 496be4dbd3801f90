package disruptor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
)

// A member rests four times as long as deciding about it took, whatever calls for a decision: it takes no more than a
// fifth of a worker. What is to be done again at once is done when it has rested (H38).
func TestASlowMemberRests(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	pass := func(resting bool) *situation {
		s := &situation{grounds: grounds{known: true, view: 1}}
		s.in.State, s.in.Resting = simulate.State{Now: start}, resting
		return s
	}
	began := &orchestration.StepResult{Decision: &disruption.Decision{Commands: []disruption.Command{{}}}, Again: true}
	nothing := &orchestration.StepResult{Decision: &disruption.Decision{}}
	for name, test := range map[string]struct {
		out  *orchestration.StepResult
		took time.Duration
		next time.Time
	}{
		"fast, and found nothing":  {nothing, time.Second, at(memoFor)},
		"slow, and found nothing":  {nothing, 2 * time.Minute, at(10 * time.Minute)},
		"fast, and to be repeated": {began, time.Millisecond, at(5 * time.Millisecond)},
		"slow, and to be repeated": {began, time.Minute, at(5 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			var p pace
			p.rest(test.took, at(test.took))
			p.note(test.out, pass(false))
			g := pass(false).grounds
			require.Equal(t, test.next, p.next(g, start, 10*time.Second))
			require.True(t, p.rests(g, test.next.Add(-1), 10*time.Second))
			p.rest(time.Millisecond, at(test.took))
			p.note(&orchestration.StepResult{}, pass(true)) // what runs goes on meanwhile
			require.Equal(t, test.next, p.next(g, start, 10*time.Second), "a pass that decides nothing changes nothing of it")
			require.False(t, p.rests(g, test.next, 10*time.Second))
		})
	}
	var p pace
	p.rest(time.Second, at(time.Second))
	p.note(nothing, pass(false))
	other := grounds{known: true, view: 2}
	require.True(t, p.rests(other, at(10*time.Second-1), 10*time.Second), "the interval is the least")
	require.False(t, p.rests(other, at(10*time.Second), 10*time.Second))
}
