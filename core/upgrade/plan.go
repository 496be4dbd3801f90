package upgrade

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// DefaultDuration is how long an upgrade is assumed to take when nothing is known.
const DefaultDuration = 20 * time.Minute

// PlanHorizon is how far ahead a plan looks.
const PlanHorizon = 400 * 24 * time.Hour

// Assumptions of a plan.
type Assumptions struct {
	// Duration of an upgrade; 0: as long as those that the run has finished took, else as History has it,
	// else DefaultDuration, and never longer than the run lets it.
	Duration time.Duration
	History  Durations
	// Default stands for DefaultDuration, where it is another one.
	Default time.Duration
	// Ends is when operations of others on members are expected to end; those of members that are not in
	// it go on for nobody knows how long.
	Ends map[string]time.Time
	// ApproveAfter is how long after it is reached a gate is assumed to be approved; nil: never, and
	// the timeline ends at the gate.
	ApproveAfter *time.Duration
	// Operation is what is done to the run first; nil: a run that was not started is started.
	Operation *api.RunOperation
	// MostRows is how many members and events the runs of a plan may have before the rest of the runs is left out; 0 is any
	// number.
	MostRows int
	// Ended tells that nobody waits for the plan any more, and any will do; nil is never.
	Ended func() bool
}

func (a *Assumptions) ended() bool { return a.Ended != nil && a.Ended() }

// GoesOn reports whether one more run is to be planned after others.
func (a *Assumptions) GoesOn(planned []RunPlan) bool {
	if a.ended() {
		return false
	}
	rows := 0
	for i := range planned {
		rows += len(planned[i].Members) + len(planned[i].Events)
	}
	return a.MostRows == 0 || rows <= a.MostRows
}

// PlannedRun is a run to plan: a new one, or one that exists when Status is given.
type PlannedRun struct {
	Run      *api.UpdateRun
	Strategy *api.UpdateStrategy
	Status   *api.UpdateRunStatus
}

// Report is the answer of a plan; its JSON is stable.
type Report struct {
	Runs []RunPlan `json:"runs"`
}

// RunPlan is the expected course of one run.
type RunPlan struct {
	Name string `json:"name"`
	// State at the end of the timeline, or Refused.
	State       string       `json:"state"`
	ExpectedEnd *metav1.Time `json:"expectedEnd"`
	// Refusal says why the run cannot be created or started.
	Refusal *api.Refusal `json:"refusal,omitempty"`
	// WaitsFor says what keeps the run from ending.
	WaitsFor []string     `json:"waitsFor,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
	Events   []PlanEvent  `json:"events"`
	Members  []MemberPlan `json:"members"`
}

// Refused is the state of a run plan that was refused.
const Refused = "Refused"

// PlanEvent is one expected change of state.
type PlanEvent struct {
	At     metav1.Time     `json:"at"`
	Scope  string          `json:"scope"`
	Name   string          `json:"name"`
	State  api.UpdateState `json:"state"`
	Reason string          `json:"reason"`
}

// MemberPlan is the expected course of one member; members are listed in order of start, those that
// never start last.
type MemberPlan struct {
	Name        string       `json:"name"`
	Stage       string       `json:"stage"`
	Group       string       `json:"group"`
	WindowClass int          `json:"windowClass"`
	Start       *metav1.Time `json:"start"`
	End         *metav1.Time `json:"end"`
	// Local is the start on the clock of the member's schedule, "Sat 02:00 CET"; empty for one without a schedule.
	Local   string          `json:"local,omitempty"`
	From    string          `json:"from"`
	To      string          `json:"to"`
	State   api.UpdateState `json:"state"`
	Reason  string          `json:"reason"`
	Message string          `json:"message"`
	// Expected is how long its upgrade is taken to last; nil for a member that is not upgraded.
	Expected *Expected `json:"expected,omitempty"`
	// HeldBy is who holds the member now, HeldUntil when that is expected to end; nil: nobody knows.
	HeldBy    string       `json:"heldBy,omitempty"`
	HeldUntil *metav1.Time `json:"heldUntil,omitempty"`
}

// Expected is how long an upgrade is taken to last, and what that rests on: a basis as above.
type Expected struct {
	Duration metav1.Duration `json:"duration"`
	Basis    string          `json:"basis"`
}

// Plan simulates runs, each by itself, through the same steps as the hub, from now on. A run that was
// not started is started now. Runs for which there is no room, or which nobody waits for, are left out.
func Plan(runs []PlannedRun, view View, now time.Time, a Assumptions) Report {
	report := Report{Runs: []RunPlan{}}
	for i := range runs {
		if !a.GoesOn(report.Runs) {
			break
		}
		report.Runs = append(report.Runs, planRun(&runs[i], view, now.UTC().Truncate(time.Second), a))
	}
	return report
}

func planRun(p *PlannedRun, view View, now time.Time, a Assumptions) RunPlan {
	out := PlanRefused(p.Run.Name, nil)
	status, refusal := statusOf(p, view, now)
	if refusal != nil {
		out.Refusal = refusal
		return out
	}
	taken := map[string]Expected{}
	s := newSimulation(p.Run, status, othersOf(view, &status), now, a.taking(&status, taken))
	out = s.course(out, taken, a)
	out.tellLocal(view.Fleet, p.Run.Spec.Upgrade.Type)
	return out
}

// tellLocal says when members start on the clocks of their schedules.
func (p *RunPlan) tellLocal(fleet *Fleet, upgradeType string) {
	for i := range p.Members {
		m := &p.Members[i]
		member, known := fleet.members[m.Name]
		if m.Start == nil || !known {
			continue
		}
		if schedule := member.window(upgradeType); schedule != nil {
			m.Local = schedule.Local(m.Start.Time).Format("Mon 15:04 MST")
		}
	}
}

// othersOf is the view without the locks that a run holds itself.
func othersOf(view View, status *api.UpdateRunStatus) View {
	locks := maps.Clone(view.Locks)
	for i := range status.Stages {
		stage.EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) {
			if m.Locked {
				delete(locks, m.Name)
			}
		})
	}
	view.Locks = locks
	return view
}

func statusOf(p *PlannedRun, view View, now time.Time) (api.UpdateRunStatus, *api.Refusal) {
	if p.Status != nil {
		return *p.Status, nil
	}
	return Create(p.Run, p.Strategy, view, now)
}

// of is how long an operation is assumed to take, and what that rests on. What is only guessed stays
// within the run's timeout of members.
func (a *Assumptions) of(policy api.UpdatePolicy, run *Durations, m *api.MemberUpdateStatus) (time.Duration, string) {
	if a.Duration > 0 {
		return a.Duration, BasisGiven
	}
	took, basis := a.History.expect(run, m)
	if basis == BasisDefault {
		took = cmp.Or(a.Default, took)
	}
	if limit := api.Span(policy.MemberTimeout); limit > 0 {
		took = min(took, limit)
	}
	return took, basis
}

// play lets the run go on by itself, gates approved as assumed, until nothing more happens or nobody waits for it.
func (s *Simulation) play(end time.Time, a *Assumptions) {
	for !a.ended() {
		gate, when := s.nextApproval(a.ApproveAfter)
		next := s.next()
		switch {
		case gate != "" && !when.After(end) && (next.IsZero() || !next.Before(when)):
			// The gate is pending in an active run, which is all that approving asks for.
			if _, refusal := s.Operate(when, api.VerbRunApprove, &api.RunRequest{Gate: gate}); refusal != nil {
				return
			}
		case !s.Advance(end):
			return
		}
	}
}

// nextApproval returns the pending approval that is assumed to be given first, and when.
func (s *Simulation) nextApproval(after *time.Duration) (id string, when time.Time) {
	if after == nil || !s.Status.Status.State.Active() {
		return "", time.Time{}
	}
	i := stage.CurrentStage(&s.Status)
	if i < 0 {
		return "", time.Time{}
	}
	stage.EachGate(&s.Status.Stages[i], func(g *api.GateStatus, _ stage.GateScope) {
		if g.Type != api.GateApproval || g.Status.State != api.StatePending {
			return
		}
		at := g.Status.StartTime.Add(*after)
		if at.Before(s.Now) {
			at = s.Now
		}
		if id == "" || at.Before(when) {
			id, when = g.GateID, at
		}
	})
	return id, when
}

// report renders what the simulation has come to.
func (s *Simulation) report(out RunPlan, taken map[string]Expected, others []held) RunPlan {
	out.State = string(s.Status.Status.State)
	out.WaitsFor, out.Warnings = stage.WaitsFor(&s.Status), s.Status.Warnings
	if s.Status.Status.State.Terminal() {
		out.ExpectedEnd = &s.Status.Status.CompletedTime
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, PlanEvent{At: metav1.NewTime(e.At), Scope: e.Scope, Name: e.Name, State: e.To, Reason: shownReason(&e)})
	}
	explained := stage.Explained(&s.Status)
	for i := range explained.Stages {
		stage := &explained.Stages[i]
		for j := range stage.Groups {
			for k := range stage.Groups[j].Members {
				m := memberPlan(stage.Name, stage.Groups[j].Name, &stage.Groups[j].Members[k])
				if expected, upgraded := taken[m.Name]; upgraded {
					m.Expected = &expected
				}
				out.Members = append(out.Members, m)
			}
		}
	}
	for _, left := range s.Status.LeftOut {
		out.Members = append(out.Members, MemberPlan{Name: left.Member, State: api.StateSkipped, Reason: api.ReasonLeftOut, Message: left.Message})
	}
	for i := range others {
		k := slices.IndexFunc(out.Members, func(m MemberPlan) bool { return m.Name == others[i].member })
		if k < 0 { // it is no member of the run any more
			continue
		}
		out.Members[k].HeldBy = others[i].by
		if end := metav1.NewTime(others[i].ends); !end.IsZero() {
			out.Members[k].HeldUntil = &end
		}
	}
	slices.SortStableFunc(out.Members, func(a, b MemberPlan) int { return stage.SoonestFirst(timeOf(a.Start), timeOf(b.Start)) })
	return out
}

// shownReason is the reason of an event where the state has one of its own.
func shownReason(e *stage.Event) string {
	switch e.To {
	case api.StatePending, api.StateSkipped, api.StateFailed:
		return e.Reason
	default:
		return ""
	}
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func memberPlan(stage, group string, m *api.MemberUpdateStatus) MemberPlan {
	p := MemberPlan{
		Name: m.Name, Stage: stage, Group: group, WindowClass: m.WindowClass,
		State: m.Status.State, Reason: m.Reason, Message: m.Message,
	}
	if m.Attempt == 0 {
		return p
	}
	p.From, p.To = Moved(m)
	if start := m.Status.StartTime; !start.IsZero() {
		p.Start = &start
	}
	if end := m.Status.CompletedTime; !end.IsZero() {
		p.End = &end
	}
	return p
}

// Moved is what a member moves from and to in its latest attempt: versions of Kubernetes, else images; empty before one.
func Moved(m *api.MemberUpdateStatus) (from, to string) {
	if m.ToVersion != "" {
		return m.FromVersion, m.ToVersion
	}
	return imagesMoved(m.NodeImages)
}

// imagesMoved lists what pools move from and to, each once.
func imagesMoved(pools []api.PoolUpgrade) (from, to string) {
	var olds, news []string
	for i := range pools {
		p := &pools[i]
		switch {
		case p.To != "":
			olds, news = append(olds, p.From), append(news, p.To)
		case p.ToVersion != "":
			olds, news = append(olds, p.FromVersion), append(news, p.ToVersion)
		case p.Newest:
			olds, news = append(olds, p.From), append(news, "newest image")
		}
	}
	return joinOnce(olds), joinOnce(news)
}

func joinOnce(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
