package overview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
)

// RunStates are those of runs and their members, those first that somebody looks at.
func RunStates() []api.UpdateState {
	return []api.UpdateState{
		api.StateRunning, api.StatePending, api.StateStopping, api.StateFailed, api.StateStopped, api.StateNotStarted, api.StateCompleted, api.StateSkipped,
	}
}

// GoesOn says that the run has an end to expect.
func (r *Run) GoesOn() bool { return r.State.Active() || r.State == api.StateStopping }

// FindRuns keeps the runs whose key or target contains a text, whatever its case, and that are in a state, each where it is
// not empty. Those that go on come first, those that are done last, each in the order of the runs. Tallies are by state, whatever
// state is asked for.
func FindRuns(runs []Run, text, state string) (kept []Run, tallies []Tally) {
	counts, text := map[api.UpdateState]int{}, strings.ToLower(text)
	for i := range runs {
		r := &runs[i]
		if !strings.Contains(strings.ToLower(r.Key+" "+r.Target), text) {
			continue
		}
		if counts[r.State]++; state == "" || state == string(r.State) {
			kept = append(kept, *r)
		}
	}
	slices.SortStableFunc(kept, func(a, b Run) int { return cmp.Compare(a.turn(), b.turn()) })
	return kept, tally(RunStates(), counts, SignOfUpdate)
}

func (r *Run) turn() int {
	switch {
	case r.GoesOn():
		return 0
	case r.State.Done():
		return 2
	}
	return 1
}

// MayStart says that the run could be started.
func (r *Run) MayStart() bool {
	return r.State == api.StateNotStarted || r.State == api.StateStopped || r.State == api.StateFailed
}

// MayStop says that the run goes on and could be stopped.
func (r *Run) MayStop() bool { return r.State.Active() }

// MayRerun says that members could be taken up again.
func (r *Run) MayRerun() bool {
	return r.State == api.StateFailed || r.State.Done() && r.Failed > 0 || r.State == api.StateStopped
}

// MaySkip says that a member in a state could be skipped.
func (r *Run) MaySkip(state api.UpdateState) bool {
	return !r.State.Done() && state != api.StateRunning && !state.Terminal()
}

// More is how many things the run waits for beside those that are shown.
func (r *Run) More() int { return r.WaitsTotal - len(r.Waits) }

// RunAhead is a run with when it is expected to end.
type RunAhead struct {
	Run
	Done  int         `json:"done"`
	Ends  metav1.Time `json:"expectedEnd,omitzero"`
	Fails bool        `json:"expectedToFail,omitempty"`
}

// Ahead is the run with what a plan of it says, which may be nil.
func (r *Run) Ahead(told *plan.Run) RunAhead {
	row := RunAhead{Run: *r, Done: r.Finished - r.Failed}
	if told != nil && told.ExpectedEnd != nil && r.GoesOn() {
		row.Ends, row.Fails = *told.ExpectedEnd, told.State == string(api.StateFailed)
	}
	return row
}

// RunTable holds runs.
func RunTable(runs []RunAhead) *Table {
	return TableOf("runs", runs, runs, func(r *RunAhead) []string {
		return []string{
			r.Key, r.Kind, string(r.State), r.Target, strconv.Itoa(r.Members), strconv.Itoa(r.Done), strconv.Itoa(r.Failed), r.Stage,
			strings.Join(r.Waits, "; "), Written(r.Created), Written(r.Started), Written(r.Ended), Written(r.Ends),
		}
	}, "run", "kind", "state", "target", "members", "done", "failed", "stage", "waits for", "created", "started", "ended", "expected end")
}
