package stage_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/window"
)

// rollout is work that is no upgrade: content goes to members in the order of a number that each bears;
// one on which it does not become available fails nobody, and is stuck until it does.
type rollout struct {
	*stage.Run
	rank      map[string]int
	available map[string]bool
}

func (*rollout) Begin() *api.Refusal { return nil }

func (w *rollout) Record(p stage.Place) {
	switch m := w.At(p); {
	case w.available[m.Name]:
		m = w.Change(p)
		m.Reason, m.Message = "", "available"
		w.Unlock(m)
		w.Enter(&m.Status, api.StateCompleted)
	case w.Overdue(m):
		w.Say(p, "stuck, not available for "+api.Span(w.Status.Policy.MemberTimeout).String())
	}
}

func (*rollout) Removed(*api.MemberUpdateStatus) *stage.Verdict { return nil }

func (*rollout) Opening(*api.MemberUpdateStatus) window.Opening {
	return window.Opening{Class: window.None}
}

func (w *rollout) Order() func(a, b stage.Candidate) int {
	return func(a, b stage.Candidate) int { return cmp.Compare(w.rank[a.Status.Name], w.rank[b.Status.Name]) }
}

func (*rollout) Check(*api.MemberUpdateStatus, window.Opening) stage.Verdict {
	return stage.Verdict{State: api.StateRunning, Message: "snapshot 7"}
}

// Over is never.
func (w *rollout) Over() *api.Refusal { return nil }

// Undone is never.
func (w *rollout) Undone(*api.StageStatus, *api.MemberUpdateStatus) bool { return false }

func (*rollout) Ended() *api.UpdateError { return nil }

func (w *rollout) LockEnd(m *api.MemberUpdateStatus) time.Time { return m.Status.CompletedTime.Time }

// journey is a rollout over time.
type journey struct {
	rollout
	t      *testing.T
	status api.UpdateRunStatus
	now    time.Time
	taken  []string
	// recheck is when the last step asked to be asked again.
	recheck time.Time
}

func newJourney(t *testing.T) *journey {
	t.Helper()
	strategy := api.RunStrategy{Stages: []api.UpdateStage{
		{Name: "canary"},
		{Name: "prod", MaxConcurrency: "2", BeforeGates: []api.GateConfiguration{{Type: api.GateApproval}}},
	}}
	members := [][]string{{"oslo"}, {"berlin", "lima", "paris"}}
	j := &journey{t: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	j.rank, j.available = map[string]int{"lima": 10, "paris": 20, "berlin": 30}, map[string]bool{}
	j.status.Run, j.status.UID, j.status.Status.State = "web", "u1", api.StateNotStarted
	j.status.Policy.MemberTimeout = &metav1.Duration{Duration: 5 * time.Minute}
	j.status.Stages, j.status.Members, _ = stage.Tree(&strategy, func(s, _ int) []api.MemberUpdateStatus {
		var out []api.MemberUpdateStatus
		for _, name := range members[s] {
			out = append(out, api.MemberUpdateStatus{Name: name, Status: api.UpdateStatus{State: api.StateNotStarted}})
		}
		return out
	}, api.MaxStageAtOnce, j.now)
	require.Equal(t, 4, j.status.Members)
	return j
}

func (j *journey) begin() *stage.Run {
	j.Run = stage.New(&j.status, &j.rollout, j.now)
	return j.Run
}

func (j *journey) take(d stage.Decision) {
	j.status, j.recheck = d.Status, d.Recheck
	for _, lock := range d.Take {
		j.taken = append(j.taken, lock.Member)
	}
}

func (j *journey) operate(verb string, ask api.RunRequest) {
	j.t.Helper()
	d, refusal := j.begin().Operate(verb, &ask)
	require.Nil(j.t, refusal)
	j.take(d)
}

func (j *journey) after(wait time.Duration, available ...string) {
	j.now = j.now.Add(wait)
	for _, name := range available {
		j.available[name] = true
	}
	j.take(j.begin().Step())
}

func TestARunGoesOverMembersWhateverIsDoneToThem(t *testing.T) {
	j := newJourney(t)
	j.operate(api.VerbRunStart, api.RunRequest{})
	require.Equal(t, []string{"oslo"}, j.taken)

	j.after(time.Minute, "oslo")
	require.Equal(t, []string{"gate prod/before/Approval: waits for approval, gate " + stage.Gates(&j.status)[0].Name}, stage.WaitsFor(&j.status))
	j.operate(api.VerbRunApprove, api.RunRequest{Gate: "prod/before/Approval"})
	require.Equal(t, []string{"oslo", "lima", "paris"}, j.taken, "by the order of the work, two at once")

	require.Equal(t, j.now.Add(5*time.Minute), j.recheck)
	j.after(5*time.Minute, "paris")
	require.Equal(t, []string{"oslo", "lima", "paris", "berlin"}, j.taken)
	lima, _ := stage.MemberStatus(&j.status, "lima")
	require.Equal(t, "stuck, not available for 5m0s", lima.Message)
	j.after(time.Hour)
	require.Equal(t, api.StateRunning, j.status.Status.State, "who is stuck fails nobody")
	require.Zero(t, j.status.FailureCount)

	j.after(time.Minute, "lima", "berlin")
	require.Equal(t, `run Completed
  stage canary Completed
    group canary Completed
      oslo Completed
  stage prod Completed
    before Approval Completed
    group prod Completed
      berlin Completed
      lima Completed
      paris Completed
`, stage.Text(&j.status))
}

// touched is work that changes something of a member as it is asked, and nothing else.
type touched struct {
	rollout
	change func(*api.MemberUpdateStatus)
}

func (w *touched) Record(p stage.Place) { w.change(w.Change(p)) }

// Whatever a step changes of a member is written; a step that changes nothing writes nothing.
func TestAStepThatChangesOneThingOfAMemberIsWritten(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := metav1.NewTime(now)
	full := []api.UpgradeAttempt{{OperationID: "u/oslo/1", State: api.StateFailed}, {OperationID: "u/oslo/2", State: api.StateFailed}}
	last := func(change func(*api.UpgradeAttempt)) func(*api.MemberUpdateStatus) {
		return func(m *api.MemberUpdateStatus) {
			m.History = []api.UpgradeAttempt{full[0], full[1]}
			change(&m.History[1])
		}
	}
	for name, c := range map[string]struct {
		change func(*api.MemberUpdateStatus)
		want   bool
	}{
		"nothing":             {func(*api.MemberUpdateStatus) {}, false},
		"the zone of a time":  {func(m *api.MemberUpdateStatus) { m.PendingSince.Time = now.In(time.FixedZone("", 3600)) }, false},
		"its state":           {func(m *api.MemberUpdateStatus) { m.Status.State = api.StateFailed }, true},
		"its operation":       {func(m *api.MemberUpdateStatus) { m.OperationID = "u/oslo/4" }, true},
		"its attempt":         {func(m *api.MemberUpdateStatus) { m.Attempt++ }, true},
		"its reason":          {func(m *api.MemberUpdateStatus) { m.Reason = api.ReasonTimeout }, true},
		"its message":         {func(m *api.MemberUpdateStatus) { m.Message = "stuck" }, true},
		"who skipped it":      {func(m *api.MemberUpdateStatus) { m.SkippedBy = api.SkippedByUser }, true},
		"its lock":            {func(m *api.MemberUpdateStatus) { m.Locked = false }, true},
		"since when it waits": {func(m *api.MemberUpdateStatus) { m.PendingSince = metav1.NewTime(now.Add(time.Second)) }, true},
		"when it may begin":   {func(m *api.MemberUpdateStatus) { m.NextEligibleTime = at }, true},
		"its window":          {func(m *api.MemberUpdateStatus) { m.WindowClass = 4 }, true},
		"another attempt": {func(m *api.MemberUpdateStatus) {
			m.History = append(full[:2:2], api.UpgradeAttempt{OperationID: "u/oslo/3"})
		}, true},
		"the newest attempt":           {last(func(a *api.UpgradeAttempt) { a.OperationID = "u/oslo/3" }), true},
		"that an attempt was late":     {last(func(a *api.UpgradeAttempt) { a.Late = true }), true},
		"what became of an attempt":    {last(func(a *api.UpgradeAttempt) { a.State = api.StateCompleted }), true},
		"an attempt that is as it was": {last(func(*api.UpgradeAttempt) {}), false},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJourney(t)
			j.operate(api.VerbRunStart, api.RunRequest{})
			oslo := &j.status.Stages[0].Groups[0].Members[0]
			oslo.PendingSince, oslo.History, oslo.OperationID, oslo.Attempt = at, full, "u/oslo/3", 3
			require.True(t, oslo.Locked)
			j.after(0)
			w := &touched{rollout: rollout{rank: j.rank}, change: c.change}
			w.Run = stage.New(&j.status, w, j.now)
			require.Equal(t, c.want, w.Step().Changed)
		})
	}
}
