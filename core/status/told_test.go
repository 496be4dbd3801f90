package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// live aggregates, keeps the record, and returns the warnings that it tells.
func (w *world) live(t *testing.T) (warnings []api.Audit, recheck time.Time) {
	t.Helper()
	st, recheck := Follow(w.in)
	for _, e := range Events(w.in.Previous, st, w.in.Now) {
		if e.Type == "Warning" {
			warnings = append(warnings, e)
		}
	}
	w.in.Previous = &st
	return warnings, recheck
}

// A thousand members that fail within ten seconds, flap for an hour, and whose rollout stands still by then,
// are told of in a number of events that does not depend on how many they are.
func TestAThousandFailuresAreFewEvents(t *testing.T) {
	w := newWorld()
	w.snapshot(t, []string{"1"})
	args := []string{"all"}
	for i := range 1000 {
		args = append(args, fmt.Sprintf("m%03d", i))
	}
	w.schedule(t, args)
	w.release(t, append([]string{"1"}, args[1:]...))
	var told []api.Audit
	for i, member := range args[1:] {
		w.report(t, []string{"failed", member})
		if i%10 == 0 {
			w.tick(t, []string{"100ms"})
			warnings, _ := w.live(t)
			told = append(told, warnings...)
		}
	}
	require.Len(t, told, 1, "the first is told of at once")
	require.Equal(t, "m000", told[0].Member)
	_, recheck := w.live(t)
	require.Equal(t, told[0].At.Add(time.Minute), recheck)
	w.in.Now = recheck
	told, _ = w.live(t)
	require.Len(t, told, 1)
	require.Equal(t, "ApplyFailed", told[0].Reason)
	require.True(t, strings.HasPrefix(told[0].Message, "999 members: m001, m002, m003 and 996 others; first m001: "), told[0].Message)
	require.Less(t, len(told[0].Message), 500)

	told = nil
	for range 60 {
		w.tick(t, []string{"30s"})
		w.report(t, []string{"available", "m000", "m001"})
		warnings, _ := w.live(t)
		told = append(told, warnings...)
		w.tick(t, []string{"30s"})
		w.report(t, []string{"failed", "m000", "m001"})
		warnings, _ = w.live(t)
		told = append(told, warnings...)
	}
	byReason := map[string]int{}
	for _, e := range told {
		byReason[e.Reason]++
	}
	require.Equal(t, 1, byReason[reasonDeadlineExceeded], "members that come and go are no progress")
	require.LessOrEqual(t, byReason[AlarmApplyFailed], 60)
}

func TestWhatOthersWroteStaysOnOneLine(t *testing.T) {
	w := newWorld()
	w.schedule(t, []string{"all", "berlin"})
	w.snapshot(t, []string{"1"})
	w.release(t, []string{"1", "berlin"})
	w.report(t, []string{"crashing", "berlin"})
	w.in.Results["berlin"].Failures[0].Message = "0 of 2\n\x1b[31mrolled out\r\n\tand more"
	st := Aggregate(w.in)
	require.Equal(t, "held up by berlin: Deployment shop/cart 0 of 2 [31mrolled out and more", st.Rollout.Message)
	require.Equal(t, st.Rollout.HeldUpBy[0].Message, st.PlacementStatuses[0].Message)
}

// Of many members a record lists those in trouble, not the first of those that wait for them.
func TestTheCulpritIsAmongThoseListed(t *testing.T) {
	w := newWorld()
	args := []string{"all"}
	for i := range 300 {
		args = append(args, fmt.Sprintf("m%03d", i))
	}
	w.schedule(t, args)
	w.snapshot(t, []string{"2"})
	w.release(t, append([]string{"1"}, args[1:]...))
	for _, member := range args[1:] {
		w.report(t, []string{"available", member})
	}
	w.release(t, []string{"2", "m299"})
	w.report(t, []string{"failed", "m299"})
	for _, member := range args[1:300] {
		w.hold(t, []string{member, "waits"})
	}
	st := Aggregate(w.in)
	require.Len(t, st.PlacementStatuses, 100)
	require.Equal(t, "m299", st.PlacementStatuses[99].ClusterName)
	require.Equal(t, 1, st.Rollout.HeldUpTotal)
}

func TestStandingsOfMembers(t *testing.T) {
	w := newWorld()
	w.schedule(t, []string{"all", "berlin", "paris", "rome"})
	w.snapshot(t, []string{"2"})
	w.release(t, []string{"1", "berlin", "paris"})
	w.report(t, []string{"available", "berlin", "paris"})
	w.release(t, []string{"2", "berlin"})
	w.report(t, []string{"crashing", "berlin"})
	w.release(t, []string{"withdrawn", "oslo"})
	w.hold(t, []string{"paris", "waits: 1 of 3 members is unavailable"})
	const held = "held up by berlin: Deployment shop/cart 0 of 2 available: back-off restarting failed container; and by oslo"
	require.Equal(t, map[string]string{
		"berlin": "snapshot 2, NotAvailable: Deployment shop/cart 0 of 2 available: back-off restarting failed container; it holds the rollout up",
		"paris":  "snapshot 1, Waiting: waits: 1 of 3 members is unavailable; " + held,
		"rome":   "Pending: whether rome may have the newest snapshot is not decided yet; " + held,
		"oslo":   "is to give it up: withdrawn at 2026-11-20T12:00:00Z and not confirmed",
	}, Standings(w.in))
}
