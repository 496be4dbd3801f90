package upgrade

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// DefaultDuration is how long an upgrade is assumed to take when nothing is known.
const DefaultDuration = 20 * time.Minute

// PlanHorizon is how far ahead a plan looks.
const PlanHorizon = 400 * 24 * time.Hour

// Assumptions of a plan.
type Assumptions struct {
	// Duration of an upgrade; 0 stands for DefaultDuration. History gives members their own. Without a
	// Duration no upgrade is assumed to take longer than the run lets it.
	Duration time.Duration
	History  map[string]time.Duration
	// ApproveAfter is how long after it is reached a gate is assumed to be approved; nil: never, and
	// the timeline ends at the gate.
	ApproveAfter *time.Duration

	// limit is the run's timeout of members. What is not assumed by a user stays within it.
	limit time.Duration
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
	Name        string          `json:"name"`
	Stage       string          `json:"stage"`
	Group       string          `json:"group"`
	WindowClass int             `json:"windowClass"`
	Start       *metav1.Time    `json:"start"`
	End         *metav1.Time    `json:"end"`
	From        string          `json:"from"`
	To          string          `json:"to"`
	State       api.UpdateState `json:"state"`
	Reason      string          `json:"reason"`
	Message     string          `json:"message"`
}

// Plan simulates runs, each by itself, through the same steps as the hub, from now on. A run that was
// not started is started now; operations of others and locks are assumed to end after one duration.
func Plan(runs []PlannedRun, view View, now time.Time, a Assumptions) Report {
	report := Report{Runs: []RunPlan{}}
	for i := range runs {
		report.Runs = append(report.Runs, planRun(&runs[i], view, now.UTC().Truncate(time.Second), a))
	}
	return report
}

func planRun(p *PlannedRun, view View, now time.Time, a Assumptions) RunPlan {
	out := RunPlan{Name: p.Run.Name, State: Refused, Events: []PlanEvent{}, Members: []MemberPlan{}}
	status, refusal := statusOf(p, view, now)
	if refusal != nil {
		out.Refusal = refusal
		return out
	}
	a.limit = api.Span(status.Policy.MemberTimeout)
	s := NewSimulation(p.Run, status, view, now, a.assume)
	if status.Status.State == api.StateNotStarted {
		if _, refusal = s.Operate(now, api.VerbRunStart, &api.RunRequest{}); refusal != nil {
			out.Refusal, out.Warnings = refusal, status.Warnings
			return out
		}
	} else {
		s.take(Step(p.Run, &s.Status, s.View, now))
	}
	s.freeAfter(now.Add(a.duration()))
	s.play(now.Add(PlanHorizon), a.ApproveAfter)
	return s.report(out)
}

func statusOf(p *PlannedRun, view View, now time.Time) (api.UpdateRunStatus, *api.Refusal) {
	if p.Status != nil {
		return *p.Status, nil
	}
	return Create(p.Run, p.Strategy, view, now)
}

func (a *Assumptions) duration() time.Duration {
	if a.Duration > 0 {
		return a.Duration
	}
	return a.within(DefaultDuration)
}

// within cuts what is only guessed to the timeout of members.
func (a *Assumptions) within(guess time.Duration) time.Duration {
	if a.limit > 0 && a.Duration == 0 {
		return min(guess, a.limit)
	}
	return guess
}

// assume is how operations go: as long as the member's last ones, and well.
func (a Assumptions) assume(member string, _ int) Assumed {
	if own, ok := a.History[member]; ok {
		return Assumed{Duration: a.within(own)}
	}
	return Assumed{Duration: a.duration()}
}

// freeAfter ends what others do on members, at an instant.
func (s *Simulation) freeAfter(at time.Time) {
	busy := len(s.View.Locks) > 0
	for _, m := range s.View.Fleet.members {
		busy = busy || m.Inventory.CurrentOperation != ""
	}
	if busy {
		s.frees = at
	}
}

// play lets the run go on by itself, gates approved as assumed, until nothing more happens.
func (s *Simulation) play(end time.Time, approveAfter *time.Duration) {
	for {
		gate, when := s.nextApproval(approveAfter)
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
	for i := range s.Status.Stages {
		if s.Status.Stages[i].Status.State.Done() {
			continue
		}
		eachGate(&s.Status.Stages[i], func(g *api.GateStatus, _ gateScope) {
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
		break
	}
	return id, when
}

// report renders what the simulation has come to.
func (s *Simulation) report(out RunPlan) RunPlan {
	out.State = string(s.Status.Status.State)
	out.WaitsFor, out.Warnings = WaitsFor(&s.Status), s.Status.Warnings
	if s.Status.Status.State.Terminal() {
		out.ExpectedEnd = &s.Status.Status.CompletedTime
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, PlanEvent{At: metav1.NewTime(e.At), Scope: e.Scope, Name: e.Name, State: e.To, Reason: shownReason(&e)})
	}
	explained := Explained(&s.Status)
	for i := range explained.Stages {
		stage := &explained.Stages[i]
		for j := range stage.Groups {
			for k := range stage.Groups[j].Members {
				out.Members = append(out.Members, memberPlan(stage.Name, stage.Groups[j].Name, &stage.Groups[j].Members[k]))
			}
		}
	}
	slices.SortStableFunc(out.Members, func(a, b MemberPlan) int { return compareOrNever(timeOf(a.Start), timeOf(b.Start)) })
	return out
}

// shownReason is the reason of an event where the state has one of its own.
func shownReason(e *Event) string {
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
	p.From, p.To = m.FromVersion, m.ToVersion
	if p.To == "" {
		p.From, p.To = imagesMoved(m.NodeImages)
	}
	if start := m.Status.StartTime; !start.IsZero() {
		p.Start = &start
	}
	if end := m.Status.CompletedTime; !end.IsZero() {
		p.End = &end
	}
	return p
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

// History returns how long the upgrades of each member took, the mean over the completed attempts of
// the given runs.
func History(runs []api.UpdateRunStatus) map[string]time.Duration {
	sums, counts := map[string]time.Duration{}, map[string]int{}
	add := func(member string, from, to metav1.Time) {
		if !from.IsZero() && to.After(from.Time) {
			sums[member] += to.Sub(from.Time)
			counts[member]++
		}
	}
	for i := range runs {
		for j := range runs[i].Stages {
			eachMember(&runs[i].Stages[j], func(m *api.MemberUpdateStatus) {
				if m.Status.State == api.StateCompleted {
					add(m.Name, m.Status.StartTime, m.Status.CompletedTime)
				}
				for _, attempt := range m.History {
					if attempt.State == api.StateCompleted {
						add(m.Name, attempt.Started, attempt.Ended)
					}
				}
			})
		}
	}
	for member, n := range counts {
		sums[member] = (sums[member] / time.Duration(n)).Truncate(time.Second)
	}
	return sums
}
