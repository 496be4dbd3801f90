package picture

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
)

// RunMember is one member in a run.
type RunMember struct {
	Stage   string          `json:"stage"`
	Group   string          `json:"group"`
	Name    string          `json:"name"`
	State   api.UpdateState `json:"state"`
	Sign    overview.Sign   `json:"sign"`
	Reason  string          `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	// From and To are versions of Kubernetes, or node images; empty before its first attempt.
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Waits is what it waits for as Course.Waiting has it, empty for one that has begun.
	Waits string `json:"waits,omitempty"`
	// Since is when it came to be in its state, zero before its turn.
	Since metav1.Time `json:"since,omitzero"`
	// Next is when its window opens that it waits for.
	Next metav1.Time `json:"next,omitzero"`
}

// Place names the group of the member, "prod/eu".
func (m *RunMember) Place() string { return m.Stage + "/" + m.Group }

// RunMembers are those of a run, whose status is one that stage.Explained made: those that failed first, then those that
// are under way, that wait, that were stopped, that were not reached and that are done, each in the order of the strategy,
// then by name. Members that fleet, which is sorted by name, says nobody hears of are Away whatever the run knows of them.
func RunMembers(status *api.UpdateRunStatus, fleet []overview.Member) []RunMember {
	rows := make([]RunMember, 0, status.Members)
	for i := range status.Stages {
		s := &status.Stages[i]
		for j := range s.Groups {
			for k := range s.Groups[j].Members {
				row := runMember(&s.Groups[j].Members[k], fleet)
				row.Stage, row.Group, row.Waits = s.Name, s.Groups[j].Name, waitsFor(&s.Groups[j].Members[k], status.Status.State)
				rows = append(rows, row)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b RunMember) int { return cmp.Compare(urgency(a.State), urgency(b.State)) })
	return rows
}

func runMember(m *api.MemberUpdateStatus, fleet []overview.Member) RunMember {
	row := RunMember{
		Name: m.Name, State: m.Status.State, Sign: overview.SignOfUpdate(m.Status.State), Reason: m.Reason, Message: m.Message,
		Attempt: m.Attempt, Since: sinceOf(m), Next: m.NextEligibleTime,
	}
	if m.Attempt > 0 {
		row.From, row.To = upgrade.Moved(m)
	}
	at, known := slices.BinarySearchFunc(fleet, m.Name, func(f overview.Member, name string) int { return strings.Compare(f.Name, name) })
	if known && fleet[at].Sign() == overview.Away {
		row.Sign = overview.Away
	}
	return row
}

// What members of runs wait for, beside the reason codes of those that wait for something else.
const (
	WaitWindow      = "window"
	WaitGate        = "gate"
	WaitConcurrency = "concurrency"
	WaitStage       = "stage" // that the stages before it are done
	WaitStart       = "start" // that somebody starts the run
)

// waitsFor is what a member waits for that has not begun; empty for any other.
func waitsFor(m *api.MemberUpdateStatus, run api.UpdateState) string {
	if m.Status.State != api.StatePending && m.Status.State != api.StateNotStarted {
		return ""
	}
	switch {
	case m.Reason == api.ReasonWindowClosed:
		return WaitWindow
	case m.Reason == api.ReasonWaitsForGate:
		return WaitGate
	case m.Reason == api.ReasonWaitsForSlot:
		return WaitConcurrency
	case m.Reason == api.ReasonRunStopped, m.Reason == api.ReasonNotReached && run == api.StateNotStarted:
		return WaitStart
	case m.Reason == api.ReasonNotReached:
		return WaitStage
	}
	return m.Reason
}

// sinceOf is when a member came to be in its state.
func sinceOf(m *api.MemberUpdateStatus) metav1.Time {
	switch m.Status.State {
	case api.StateRunning:
		return m.Status.StartTime
	case api.StatePending:
		return m.PendingSince
	}
	return m.Status.CompletedTime
}

// urgencies are the states of members, those first that somebody should look at.
var urgencies = []api.UpdateState{
	api.StateFailed, api.StateRunning, api.StatePending, api.StateStopped, api.StateNotStarted, api.StateSkipped, api.StateCompleted,
}

func urgency(state api.UpdateState) int { return slices.Index(urgencies, state) }

// RunGate is a gate of a run, or the wait after one of its stages.
type RunGate struct {
	// Path names it as commands do, "prod/before/Approval"; of a wait it is the stage.
	Path  string          `json:"path"`
	Type  string          `json:"type"` // of a gate, else "Wait"
	Name  string          `json:"name,omitempty"`
	State api.UpdateState `json:"state"`
	Sign  overview.Sign   `json:"sign"`
	// Since is when it was reached, Opened when it let go, zero before.
	Since  metav1.Time `json:"since,omitzero"`
	Opened metav1.Time `json:"opened,omitzero"`
	// Opens is when it lets go by itself, zero for never, or before that is known.
	Opens metav1.Time `json:"opens,omitzero"`
	// By is who approved.
	By string `json:"by,omitempty"`
	// Holds is how many members have not begun that it stands before, while it is not open.
	Holds int `json:"holds,omitempty"`

	stage, group string
}

// scope is the one of events about it.
func (g *RunGate) scope() string {
	if g.Type == TypeWait {
		return stage.ScopeWait
	}
	return stage.ScopeGate
}

// TypeWait is the type of a RunGate that is the wait after a stage.
const TypeWait = "Wait"

// RunGates are the gates and waits of a run in the order of its strategy.
func RunGates(status *api.UpdateRunStatus) []RunGate {
	var gates []RunGate
	after := undoneFrom(status)
	for i := range status.Stages {
		s := &status.Stages[i]
		add := func(all []api.GateStatus, group, timing string, holds int) {
			for k := range all {
				gates = append(gates, runGate(&all[k], s.Name, group, timing, holds))
			}
		}
		add(s.BeforeGates, "", api.TimingBefore, after[i])
		for j := range s.Groups {
			g := &s.Groups[j]
			add(g.BeforeGates, g.Name, api.TimingBefore, undone(g))
			add(g.AfterGates, g.Name, api.TimingAfter, after[i+1])
		}
		add(s.AfterGates, "", api.TimingAfter, after[i+1])
		if s.Wait != nil {
			gates = append(gates, runWait(s, after[i+1]))
		}
	}
	return gates
}

func runGate(g *api.GateStatus, inStage, group, timing string, holds int) RunGate {
	gate := RunGate{
		Path: stage.ScopeOf(inStage, group, timing).Path(g.Type), Type: g.Type, Name: g.DisplayName, State: g.Status.State,
		Sign: overview.SignOfUpdate(g.Status.State), Since: g.Status.StartTime, Opened: g.Status.CompletedTime, Opens: g.AbsoluteStartTime,
		By: g.ApprovedBy, stage: inStage, group: group,
	}
	if !gate.State.Done() {
		gate.Holds = holds
	}
	return gate
}

func runWait(s *api.StageStatus, holds int) RunGate {
	w := s.Wait
	gate := RunGate{
		Path: s.Name, Type: TypeWait, State: w.Status.State, Sign: overview.SignOfUpdate(w.Status.State),
		Since: w.Status.StartTime, Opened: w.Status.CompletedTime, Opens: w.Deadline, stage: s.Name,
	}
	if gate.State == api.StateRunning {
		gate.Sign = overview.Waiting
	}
	if !gate.State.Done() {
		gate.Holds = holds
	}
	return gate
}

// undoneFrom counts the members that have not begun in each stage and those after it, with 0 behind the last.
func undoneFrom(status *api.UpdateRunStatus) []int {
	from := make([]int, len(status.Stages)+1)
	for i := range slices.Backward(status.Stages) {
		from[i] = from[i+1]
		for j := range status.Stages[i].Groups {
			from[i] += undone(&status.Stages[i].Groups[j])
		}
	}
	return from
}

func undone(g *api.GroupStatus) int {
	n := 0
	for k := range g.Members {
		if state := g.Members[k].Status.State; state != api.StateRunning && !state.Terminal() {
			n++
		}
	}
	return n
}

// FindRunMembers keeps the members of a group, "prod/eu", or of a whole stage, that wait for something and are in a state, each
// where it is not empty.
func FindRunMembers(members []RunMember, group, waits, state string) (kept []RunMember) {
	for i := range members {
		m := &members[i]
		if (group == "" || m.Place() == group || m.Stage == group) && (waits == "" || m.Waits == waits) && (state == "" || string(m.State) == state) {
			kept = append(kept, *m)
		}
	}
	return kept
}

// WindowsFor is what windows are for that count for a run with a status, empty for none.
func WindowsFor(run *api.UpdateRun) string {
	switch content := run.Status.Content; {
	case run.Status.WindowsIgnored != "":
		return ""
	case content != nil && content.Windows:
		return ForContent
	case content != nil:
		return ""
	case run.Spec.Upgrade.Type == api.UpgradeNodeImageOnly:
		return ForImages
	}
	return ForUpgrades
}

// Places are the groups of a run, "prod/eu".
func Places(status *api.UpdateRunStatus) (places []string) {
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			places = append(places, status.Stages[i].Name+"/"+status.Stages[i].Groups[j].Name)
		}
	}
	return places
}

// RunMemberTable holds members of a run, and as JSON its course too.
func RunMemberTable(run string, members []RunMember, c *Course) *overview.Table {
	value := map[string]any{"lanes": c, "members": members}
	return overview.TableOf("run-"+strings.ReplaceAll(run, "/", "-"), value, members, func(m *RunMember) []string {
		return []string{
			m.Stage, m.Group, m.Name, string(m.State), m.Reason, m.Message, m.From, m.To, strconv.Itoa(m.Attempt), overview.Written(m.Since), overview.Written(m.Next),
		}
	}, "stage", "group", "member", "state", "reason", "message", "from", "to", "attempt", "since", "window opens")
}
