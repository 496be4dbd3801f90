package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/apply"
)

func TestAnswers(t *testing.T) {
	object := func(name string) api.ObjectRef { return api.ObjectRef{APIVersion: "v1", Kind: "Service", Name: name} }
	broken := api.ManifestFailure{ObjectRef: object("b"), Condition: "Applied", Reason: "ManifestApplyFailed", Message: "no"}
	slow := api.ManifestFailure{ObjectRef: object("a"), Condition: "Available", Reason: "ManifestNotAvailableYet", Message: "wait"}
	for name, c := range map[string]struct {
		tally tally
		want  api.PlacementResult
	}{
		"all well": {tally{total: 2}, api.PlacementResult{
			Applied: "True", AppliedReason: "AllWorkHaveBeenApplied", AppliedMessage: "all 2 objects are applied",
			Available: "True", AvailableReason: "AllWorkAreAvailable", AvailableMessage: "all 2 objects are available", Total: 2,
		}},
		"untracked": {tally{total: 2, untracked: 1}, api.PlacementResult{
			Applied: "True", AppliedReason: "AllWorkHaveBeenApplied", AppliedMessage: "all 2 objects are applied",
			Available: "True", AvailableReason: "NotAllWorkAreAvailabilityTrackable",
			AvailableMessage: "all 2 objects are there; the availability of 1 of them cannot be tracked", Total: 2,
		}},
		"waiting": {tally{total: 2, untracked: 1, waiting: []api.ManifestFailure{slow}}, api.PlacementResult{
			Applied: "True", AppliedReason: "AllWorkHaveBeenApplied", AppliedMessage: "all 2 objects are applied",
			Available: "False", AvailableReason: "NotAllWorkAreAvailable",
			AvailableMessage: "1 of 2 objects are not available yet, first Service/a: wait",
			Total:            2, Failed: 1, Failures: []api.ManifestFailure{slow},
		}},
		"done for good": {tally{total: 2, completed: []api.ObjectRef{object("c")}, waiting: []api.ManifestFailure{slow}}, api.PlacementResult{
			Applied: "True", AppliedReason: "AllWorkHaveBeenApplied", AppliedMessage: "all 2 objects are applied",
			Available: "False", AvailableReason: "NotAllWorkAreAvailable",
			AvailableMessage: "1 of 2 objects are not available yet, first Service/a: wait",
			Total:            2, Failed: 1, Failures: []api.ManifestFailure{slow}, Completed: []api.ObjectRef{object("c")},
		}},
		"broken": {tally{total: 2, failures: []api.ManifestFailure{broken}, waiting: []api.ManifestFailure{slow}}, api.PlacementResult{
			Applied: "False", AppliedReason: "NotAllWorkHaveBeenApplied",
			AppliedMessage: "1 of 2 objects could not be applied, first Service/b: no",
			Total:          2, Failed: 2, Failures: []api.ManifestFailure{broken, slow},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var r api.PlacementResult
			c.tally.answer(&r)
			require.Equal(t, c.want, r)
		})
	}
}

func TestJobsThatAreDoneAreListed(t *testing.T) {
	var done tally
	for i := range 2 * maxCompleted {
		live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "status": map[string]any{
			"conditions": []any{map[string]any{"type": "Complete", "status": "True"}},
		}}}
		live.SetName(fmt.Sprint(i))
		done.judge(apply.RefOf(live), live, nil)
		live.SetKind("Cake")
		done.judge(apply.RefOf(live), live, nil)
	}
	var r api.PlacementResult
	done.answer(&r)
	require.Len(t, r.Completed, maxCompleted)
	require.Equal(t, "Job/99", r.Completed[99].String())
}

func TestResultsAreCutAndCounted(t *testing.T) {
	c := tally{total: 500}
	for i := range 400 {
		c.failures = append(c.failures, api.ManifestFailure{
			ObjectRef: api.ObjectRef{Kind: "Service", Name: fmt.Sprint(i)}, Condition: "Applied", Message: strings.Repeat("ü", 1000),
		})
	}
	r := api.PlacementResult{Placement: "web"}
	c.answer(&r)
	body, err := json.Marshal(r)
	require.NoError(t, err)
	require.LessOrEqual(t, len(body), maxResult)
	require.Equal(t, 400, r.Failed)
	require.NotEmpty(t, r.Failures)
	var back api.PlacementResult
	require.NoError(t, json.Unmarshal(body, &back))
	require.True(t, sameResult(r, back), "what is read back from disk must be the same result")
}

func TestChangedTurnsWithContentAndAnswers(t *testing.T) {
	then, now := time.Unix(100, 0), time.Unix(200, 0)
	last := api.PlacementResult{UID: "u", Work: "w", Applied: "True", Available: "True", Generation: 1}
	last.Changed.Time = then
	for name, c := range map[string]struct {
		edit func(*api.PlacementResult)
		want time.Time
	}{
		"nothing":       {func(*api.PlacementResult) {}, then},
		"generation":    {func(r *api.PlacementResult) { r.Generation = 2 }, then},
		"message":       {func(r *api.PlacementResult) { r.AppliedMessage = "x" }, then},
		"content":       {func(r *api.PlacementResult) { r.Work = "v" }, now},
		"applied":       {func(r *api.PlacementResult) { r.Applied = "False" }, now},
		"available":     {func(r *api.PlacementResult) { r.Available = "Unknown" }, now},
		"another uid":   {func(r *api.PlacementResult) { r.UID = "v" }, now},
		"and withdrawn": {func(r *api.PlacementResult) { r.Withdrawn = true }, now},
	} {
		r := last
		c.edit(&r)
		require.True(t, changed(last, r, now).Time.Equal(c.want), name)
	}
}

func TestPace(t *testing.T) {
	p := newPace(time.Minute)
	p.shake = func() float64 { return 0 }
	var waits []time.Duration
	for range 4 {
		waits = append(waits, p.next("web", retrying, "a"))
	}
	require.Equal(t, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}, waits)
	require.Equal(t, 500*time.Millisecond, p.next("web", retrying, "b"), "something else is waited for")
	require.Equal(t, 500*time.Millisecond, p.next("shop", retrying, "a"), "placements do not wait for each other")
	for range 20 {
		p.next("web", watching, "b")
	}
	require.Equal(t, 15*time.Second, p.next("web", watching, "b"))
	require.Equal(t, time.Minute, p.next("web", steady, "b"))
	p.shake = func() float64 { return 0.5 }
	require.Equal(t, 54*time.Second, p.next("web", steady, "b"))
}
