package upgrade_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/strict"
	"flotilla/core/upgrade"
	"flotilla/core/version"
	"flotilla/core/window"
)

// storm is a world in which anything may happen: random fleets, strategies, policies, windows, gates,
// failures, silent agents, users and regions. Every status is kept as JSON between two steps, as if the
// hub restarted each time.
type storm struct {
	*scene
	random  *rand.Rand
	started map[string]bool // operation ids
	reasons map[string]string
}

// TestAnythingMayHappen drives random worlds and checks, at every instant: no level has more members in
// flight than it allows; members start in their windows, once an attempt, and by the version rules;
// stages come strictly in order, but for members that a rerun names; every member explains itself; whoever does not run names what it
// waits for; deciding again changes nothing and inputs stay as they were; whoever reads the events of a step one
// after the other finds causes before effects.
func TestAnythingMayHappen(t *testing.T) {
	for seed := range uint64(80) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { newStorm(t, seed).rage() })
	}
}

func newStorm(t *testing.T, seed uint64) *storm {
	t.Helper()
	s := &storm{scene: newScene(t), random: rand.New(rand.NewPCG(seed, 3)), started: map[string]bool{}, reasons: documentedReasons(t)}
	s.fixture(nil, "")
	for i := range 2 + s.random.IntN(12) {
		s.addMember(fmt.Sprintf("m%02d", i))
	}
	s.guard = func(_ *world, run string, d stage.Decision) {
		s.judgeStart(run, &d)
		requireCausesFirst(s.t, &d)
	}
	s.watch = func(*world) { s.judge() }
	return s
}

func (s *storm) oneOf(words ...string) string { return words[s.random.IntN(len(words))] }

func (s *storm) chance(percent int) bool { return s.random.IntN(100) < percent }

func (s *storm) addMember(name string) {
	facts := upgrade.MemberFacts{
		Name: name, UID: "uid-" + name, Group: s.oneOf("g1", "g2", "g3", "g4"), Eligible: true, Reachable: !s.chance(5), LastSeen: s.now,
		Labels: map[string]string{"env": s.oneOf("dev", "prod")},
		Inventory: api.MemberInventory{
			Region: s.oneOf("weu", "eus", "aue"), ControlPlaneVersion: s.oneOf("1.28.15", "1.29.2", "1.29.2", "1.29.4", "1.29.9", "1.30.3"),
		},
	}
	pools := "p1:U-202312.11.0@" + facts.Inventory.ControlPlaneVersion
	if s.chance(30) {
		pools += ",p2:U-202401.09.0@" + s.oneOf("1.28.9", facts.Inventory.ControlPlaneVersion)
	}
	facts.Inventory.NodePools = s.pools(pools)
	if s.chance(40) {
		facts.Maintenance = &api.MaintenanceConfiguration{AutoUpgrade: s.anyWindow(), NodeOSUpgrade: s.anyWindow()}
	}
	s.agents[name] = behaviour{
		duration: time.Duration(1+s.random.IntN(90)) * time.Minute, fails: []int{0, 0, 0, 1, -1}[s.random.IntN(5)],
		outcome: s.oneOf("", "", "", api.OutcomeBlocked), silent: s.chance(3), late: 7 * time.Hour,
	}
	require.NoError(s.t, s.fleet.Set(facts))
}

func (s *storm) anyWindow() *api.MaintenanceWindow {
	w := &api.MaintenanceWindow{
		Schedule:      api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: 1 + s.random.IntN(2)}},
		DurationHours: 4 + s.random.IntN(6), StartTime: s.oneOf("00:00", "05:30", "11:00", "19:45"), StartDate: "2026-11-01",
	}
	if s.chance(50) {
		w.TimeZone = s.oneOf("Europe/Paris", "America/New_York", "Asia/Kolkata")
	}
	return w
}

// strategyOf makes a random sequence over the groups of the fleet.
func (s *storm) strategyOf() *api.RunStrategy {
	names := []string{"g1", "g2", "g3", "g4"}
	s.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(s.fleet.Names(), func(n string) bool { m, _ := s.fleet.Member(n); return m.Group == name })
	})
	strategy := &api.RunStrategy{}
	for i := 0; i < len(names); {
		take := min(1+s.random.IntN(3), len(names)-i)
		stage := api.UpdateStage{
			Name: fmt.Sprintf("s%d", len(strategy.Stages)), MaxConcurrency: strict.CountOrPercent(s.oneOf("", "1", "2", "50%")),
			MaxAllowedFailures: strict.CountOrPercent(s.oneOf("", "0", "1", "50%")), BeforeGates: s.anyGates(true), AfterGates: s.anyGates(false),
		}
		if s.chance(40) {
			stage.AfterStageWaitInSeconds = int32(60 * (1 + s.random.IntN(120)))
		}
		for _, name := range names[i : i+take] {
			stage.Groups = append(stage.Groups, api.UpdateGroup{
				Name: name, MaxConcurrency: strict.CountOrPercent(s.oneOf("", "1", "2", "100%")), MaxAllowedFailures: strict.CountOrPercent(s.oneOf("", "", "1", "100%")),
				BeforeGates: s.anyGates(true), AfterGates: s.anyGates(false),
			})
		}
		strategy.Stages = append(strategy.Stages, stage)
		i += take
	}
	return strategy
}

func (s *storm) anyGates(before bool) []api.GateConfiguration {
	var gates []api.GateConfiguration
	if s.chance(15) {
		gates = append(gates, api.GateConfiguration{Type: api.GateApproval})
	}
	if before && s.chance(10) {
		gates = append(gates, api.GateConfiguration{Type: api.GateScheduledStart, ScheduledStartConfiguration: &api.ScheduledStart{
			StartDay: s.oneOf(api.UpdateWeekdays...), StartTime: s.oneOf("02:00", "13:30"), UTCOffset: s.oneOf("+00:00", "-05:30"),
		}})
	}
	return gates
}

func (s *storm) policyOf() *api.UpdatePolicy {
	p := &api.UpdatePolicy{OnIneligible: api.PolicySkip, OnStopped: s.oneOf("", "Wait", "Fail"), OnUnreachable: s.oneOf("", "Skip", "Fail")}
	if s.chance(40) {
		p.MemberTimeout = &metav1.Duration{Duration: time.Duration(30+s.random.IntN(90)) * time.Minute}
	}
	if s.chance(30) {
		p.PendingTimeout = &metav1.Duration{Duration: time.Duration(1+s.random.IntN(30)) * time.Hour}
		p.OnPendingTimeout = s.oneOf("", "Skip", "Fail")
	}
	on := true
	if s.chance(20) {
		p.ReserveOpeningSoon = &on
	}
	if s.chance(20) {
		p.MinRemaining = &metav1.Duration{Duration: time.Hour}
	}
	if s.chance(10) {
		p.MaxAllowedFailures = strict.CountOrPercent(s.oneOf("1", "30%"))
	}
	return p
}

// rage creates two runs and lets users and the world act on them for some days.
func (s *storm) rage() {
	for _, name := range []string{"r1", "r2"} {
		run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: name}}
		run.Spec = api.UpdateRunSpec{Strategy: s.strategyOf(), Policy: s.policyOf()}
		run.Spec.Upgrade = []api.Upgrade{
			{Type: api.UpgradeFull, KubernetesVersion: "1.29.9"},
			{Type: api.UpgradeFull, KubernetesVersion: "1.30", NodeImageSelection: &api.NodeImageSelection{Type: api.ImagesConsistent}},
			{Type: api.UpgradeControlPlaneOnly, KubernetesVersion: "1.30.3"},
			{Type: api.UpgradeNodeImageOnly},
		}[s.random.IntN(4)]
		require.Nil(s.t, s.create(run), "%+v", run.Spec)
	}
	for range 40 {
		s.until(s.now.Add(time.Duration(1+s.random.IntN(240)) * time.Minute))
		s.act()
	}
	s.calm()
}

// act lets one thing happen now. A refusal is an answer as good as any.
func (s *storm) act() {
	run := s.oneOf("r1", "r2")
	r := s.runs[run]
	switch s.random.IntN(12) {
	case 0, 1, 2, 3:
		s.ask(run, api.VerbRunStart, &api.RunRequest{IncludeSkipped: s.chance(20)})
	case 4:
		s.ask(run, api.VerbRunStop, &api.RunRequest{})
	case 5:
		s.ask(run, api.VerbRunSkip, &api.RunRequest{Targets: []api.SkipTarget{s.anyTarget(r)}})
	case 6, 7:
		s.approveOne(run)
	case 8:
		s.ask(run, api.VerbRunRerun, &api.RunRequest{Members: s.rerunOf(r)})
	case 9, 10:
		s.shake()
	case 11:
		s.publish(nil, s.oneOf("kubernetes 1.29.9 GA aue", "image U-202401.31.0 weu eus", "kubernetes 1.30.7 GA weu eus aue"))
	}
}

func (s *storm) ask(run, verb string, request *api.RunRequest) {
	before, err := json.Marshal(s.runs[run].status)
	require.NoError(s.t, err)
	if _, refusal := s.operate(run, verb, request); refusal == nil {
		return
	}
	after, err := json.Marshal(s.runs[run].status)
	require.NoError(s.t, err)
	require.Equal(s.t, string(before), string(after), "a refused %s changes nothing", verb)
}

func (s *storm) anyTarget(r *worldRun) api.SkipTarget {
	st := r.status.Stages[s.random.IntN(len(r.status.Stages))]
	g := st.Groups[s.random.IntN(len(st.Groups))]
	switch {
	case s.chance(20):
		return api.SkipTarget{Type: api.TargetStage, Name: st.Name}
	case s.chance(20):
		return api.SkipTarget{Type: api.TargetAfterStageWait, Name: st.Name}
	case s.chance(30) || len(g.Members) == 0:
		return api.SkipTarget{Type: api.TargetGroup, Name: g.Name}
	default:
		return api.SkipTarget{Type: api.TargetMember, Name: g.Members[s.random.IntN(len(g.Members))].Name}
	}
}

// rerunOf names a set of members, or one or two members of the run.
func (s *storm) rerunOf(r *worldRun) []string {
	if s.chance(40) {
		return []string{s.oneOf(api.RerunFailed, api.RerunSkippedByUser, api.RerunAll)}
	}
	members := explainedMembers(&r.status)
	return []string{members[s.random.IntN(len(members))].Name, members[s.random.IntN(len(members))].Name}
}

func (s *storm) approveOne(run string) {
	for _, gate := range stage.Gates(&s.runs[run].status) {
		if gate.Status.State == api.StatePending {
			s.ask(run, api.VerbRunApprove, &api.RunRequest{Gate: gate.Name})
			return
		}
	}
}

// shake changes a member.
func (s *storm) shake() {
	names := s.fleet.Names()
	name := names[s.random.IntN(len(names))]
	switch s.random.IntN(6) {
	case 0:
		s.set([]string{name, "busy=" + s.oneOf("", "repair")}, "")
	case 1:
		s.set([]string{name, "power=" + s.oneOf("Running", "Stopped")}, "")
	case 2:
		s.set([]string{name, "reachable=" + s.oneOf("yes", "no")}, "")
	case 3:
		s.set([]string{name, "group=" + s.oneOf("g1", "g9")}, "")
	case 4:
		s.set([]string{name, "seen=" + s.now.Format(time.RFC3339)}, "")
	case 5:
		if len(names) > 2 {
			s.remove([]string{name}, "")
		}
	}
}

// calm clears what anybody could wait for; then every run that is started ends.
func (s *storm) calm() {
	for _, name := range s.fleet.Names() {
		s.agents[name] = behaviour{duration: time.Minute}
		s.set([]string{name, "busy=", "power=Running", "reachable=yes", "seen=" + s.now.Format(time.RFC3339)}, "")
	}
	s.publish(nil, "kubernetes 1.29.9 GA aue\nkubernetes 1.30.5 GA aue\nkubernetes 1.30.7 GA aue\nimage U-202401.09.0 aue")
	for _, name := range []string{"r1", "r2"} {
		s.ask(name, api.VerbRunStart, &api.RunRequest{})
	}
	for range 200 {
		s.until(s.now.Add(13 * time.Hour))
		for _, name := range []string{"r1", "r2"} {
			s.approveOne(name)
			if s.runs[name].status.Status.State == api.StateStopped || s.runs[name].status.Status.State == api.StateFailed {
				s.ask(name, api.VerbRunStart, &api.RunRequest{})
			}
		}
	}
	for _, name := range []string{"r1", "r2"} {
		status := &s.runs[name].status
		done := status.Status.State.Done() || status.Status.State == api.StateNotStarted || status.Status.State == api.StateFailed
		require.True(s.t, done, "run %s does not end:\n%s%v", name, stage.Text(status), stage.WaitsFor(status))
	}
	require.Empty(s.t, s.locks, "locks are left behind")
}

// judgeStart looks at the members a decision starts.
func (s *storm) judgeStart(run string, d *stage.Decision) {
	r := s.runs[run]
	for _, lock := range d.Take {
		require.False(s.t, s.started[lock.Operation], "%s is started twice", lock.Operation)
		s.started[lock.Operation] = true
		m, ok := s.fleet.Member(lock.Member)
		require.True(s.t, ok)
		schedule := m.Upgrades
		if r.object.Spec.Upgrade.Type == api.UpgradeNodeImageOnly {
			schedule = m.Images
		}
		if only := r.status.RerunOf; len(only) > 0 && len(d.Status.RerunOf) > 0 {
			require.Contains(s.t, d.Status.RerunOf, lock.Member, "%s starts though the rerun names %s", lock.Member, only)
		}
		require.True(s.t, schedule.At(s.now).Class.MayStart(), "%s starts at %s outside its window", lock.Member, s.now)
		status, _ := stage.MemberStatus(&d.Status, lock.Member)
		s.judgeVersions(m, status)
	}
}

func (s *storm) judgeVersions(m *upgrade.Member, status *api.MemberUpdateStatus) {
	catalog := s.view("").Catalog
	plane := m.ControlPlane
	if status.ToVersion != "" {
		to, ok := version.Parse(status.ToVersion)
		require.True(s.t, ok)
		require.Equal(s.t, version.MoveAllowed, m.ControlPlane.MoveTo(to))
		require.True(s.t, catalog.Has(m.Inventory.Region, to), "%s is not in %s", to, m.Inventory.Region)
		plane = to
	}
	moved := status.ToVersion != ""
	for _, pool := range status.NodeImages {
		if pool.ToVersion != "" {
			to, _ := version.Parse(pool.ToVersion)
			require.LessOrEqual(s.t, to.Compare(plane), 0, "pool %s of %s goes beyond its control plane", pool.Pool, m.Name)
			moved = true
		}
		if pool.To != "" {
			require.Equal(s.t, version.ImageNewer, version.CompareImages(pool.To, pool.From))
			moved = true
		}
	}
	require.True(s.t, moved, "%s is started for nothing", m.Name)
	require.True(s.t, m.Reachable)
	require.Empty(s.t, m.Inventory.CurrentOperation)
}

// judge looks at all runs at rest.
func (s *storm) judge() {
	for _, name := range slices.Sorted(maps.Keys(s.runs)) {
		r := s.runs[name]
		s.judgeTree(name, &r.status)
		before, err := json.Marshal(&r.status)
		require.NoError(s.t, err)
		again := upgrade.Step(r.object, &r.status, s.view(name), s.now)
		require.False(s.t, again.Changed, "deciding %s again changes it: %v", name, again.Events)
		require.Empty(s.t, again.Take)
		after, err := json.Marshal(&r.status)
		require.NoError(s.t, err)
		require.Equal(s.t, string(before), string(after), "a step changed its input")
		for _, member := range explainedMembers(&r.status) {
			require.NotEmpty(s.t, member.Reason, "%s %s", member.Name, member.Status.State)
			require.NotEmpty(s.t, member.Message, "%s %s", member.Name, member.Status.State)
			s.judgeReason(&member)
		}
	}
}

// judgeReason finds the reason of a member in the guide, given in the state in which the member is.
func (s *storm) judgeReason(m *api.MemberUpdateStatus) {
	states := s.reasons[m.Reason]
	overstayed := strings.HasPrefix(m.Message, "pending for more than ") && strings.Contains(states, string(api.StatePending))
	explains := strings.Contains(states, "any") || strings.Contains(states, string(m.Status.State)+",") || overstayed
	require.True(s.t, explains, "the guide says nothing about %s %s: %s", m.Status.State, m.Reason, m.Message)
}

func explainedMembers(status *api.UpdateRunStatus) []api.MemberUpdateStatus {
	var out []api.MemberUpdateStatus
	explained := stage.Explained(status)
	for _, st := range explained.Stages {
		for _, g := range st.Groups {
			out = append(out, g.Members...)
		}
	}
	return out
}

func (s *storm) judgeTree(name string, status *api.UpdateRunStatus) {
	running, finished, failedMembers, behind := 0, 0, 0, true
	for i := range status.Stages {
		st := &status.Stages[i]
		inStage := 0
		for j := range st.Groups {
			g := &st.Groups[j]
			inGroup := 0
			for k := range g.Members {
				m := &g.Members[k]
				switch m.Status.State {
				case api.StateRunning:
					inGroup++
					require.True(s.t, m.Locked, "%s runs without its lock", m.Name)
				case api.StatePending:
					require.True(s.t, status.Status.State.Active() || status.Status.State == api.StateStopping, "%s is Pending in a run that is %s", m.Name, status.Status.State)
				case api.StateSkipped:
					require.NotEmpty(s.t, m.SkippedBy)
				case api.StateFailed:
					failedMembers++
				}
				if m.Status.State.Terminal() {
					finished++
				}
			}
			require.LessOrEqual(s.t, inGroup, g.MaxConcurrency, "group %s at %s", g.Name, s.now)
			inStage += inGroup
		}
		require.LessOrEqual(s.t, inStage, st.MaxConcurrency, "stage %s at %s", st.Name, s.now)
		if len(status.RerunOf) == 0 && (inStage > 0 || st.Status.State == api.StateRunning || st.Status.State == api.StatePending) {
			require.True(s.t, behind, "stage %s of %s runs before those in front of it ended\n%s", st.Name, name, stage.Text(status))
		}
		behind = behind && st.Status.State.Done()
		running += inStage
	}
	require.Equal(s.t, finished, status.Finished)
	require.Equal(s.t, failedMembers, status.FailureCount)
	switch state := status.Status.State; {
	case state.Active() && running == 0:
		require.NotEmpty(s.t, stage.WaitsFor(status), "%s is %s and waits for nothing:\n%s", name, state, stage.Text(status))
	case !state.Active() && state != api.StateStopping:
		require.Zero(s.t, running, "%s is %s\n%s", name, state, stage.Text(status))
	case state == api.StateStopping:
		require.Positive(s.t, running)
	}
}

// TestOrderOfInputsDoesNotMatter builds one fleet in two orders and finds the same decisions.
func TestOrderOfInputsDoesNotMatter(t *testing.T) {
	for seed := range uint64(30) {
		s := newStorm(t, seed)
		run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "uid-r"}}
		run.Spec = api.UpdateRunSpec{Strategy: s.strategyOf(), Policy: s.policyOf(), Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.29.9"}}
		shuffled := upgrade.NewFleet(time.LoadLocation)
		names := s.fleet.Names()
		s.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			m, _ := s.fleet.Member(name)
			require.NoError(t, shuffled.Set(m.MemberFacts))
		}
		other := s.view("")
		other.Fleet = shuffled
		after := time.Duration(0)
		a := upgrade.Assumptions{Duration: 7 * time.Minute, ApproveAfter: &after}
		first := upgrade.Plan([]upgrade.PlannedRun{{Run: run}}, s.view(""), s.now, a)
		require.Equal(t, first, upgrade.Plan([]upgrade.PlannedRun{{Run: run}}, other, s.now, a))
		require.NotEmpty(t, first.Runs[0].Members, "%v", first.Runs[0].Refusal)
	}
}

// TestPlanForetellsTheRun plans a run and finds the same events, times included, when it is executed.
func TestPlanForetellsTheRun(t *testing.T) {
	for seed := range uint64(60) {
		s := newStorm(t, seed)
		run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "uid-r-1"}}
		run.Spec = api.UpdateRunSpec{Strategy: s.strategyOf(), Policy: s.policyOf(), Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.29.9"}}
		a, history := upgrade.Assumptions{}, map[string]time.Duration{}
		if s.chance(50) { // what is assumed may be longer than the run lets an upgrade take
			a.Duration = time.Duration(1+s.random.IntN(150)) * time.Minute
		}
		for _, name := range s.fleet.Names() {
			history[name] = cmp.Or(a.Duration, s.agents[name].duration)
			if limit := api.Span(run.Spec.Policy.MemberTimeout); limit > 0 && a.Duration == 0 {
				history[name] = min(history[name], limit)
			}
			s.agents[name] = behaviour{duration: history[name]}
		}
		a.History = took(history)
		report := upgrade.Plan([]upgrade.PlannedRun{{Run: run}}, s.view("r"), s.now, a)
		plan := report.Runs[0]
		require.Nil(t, s.create(run))
		if _, refusal := s.operate("r", api.VerbRunStart, &api.RunRequest{}); refusal != nil {
			require.Equal(t, plan.Refusal, refusal)
			continue
		}
		s.until(s.now.Add(upgrade.PlanHorizon))
		var real []upgrade.PlanEvent
		for _, e := range s.events {
			real = append(real, upgrade.PlanEvent{At: metav1.NewTime(e.At), Scope: e.Scope, Name: e.Name, State: e.To, Reason: eventReason(&e)})
		}
		require.Equal(t, plan.Events, real)
		require.Equal(t, plan.State, string(s.runs["r"].status.Status.State))
	}
}

// TestWindowsOfFleetsThatCannotBeRead finds that a schedule with faults closes its member.
func TestWindowsOfFleetsThatCannotBeRead(t *testing.T) {
	fleet := upgrade.NewFleet(time.LoadLocation)
	err := fleet.Set(upgrade.MemberFacts{Name: "m1", Maintenance: &api.MaintenanceConfiguration{AutoUpgrade: &api.MaintenanceWindow{StartTime: "noon"}}})
	require.ErrorContains(t, err, "m1")
	require.ErrorContains(t, err, "aksManagedAutoUpgradeSchedule.startTime")
	m, ok := fleet.Member("m1")
	require.True(t, ok)
	require.Equal(t, window.Closed, m.Upgrades.At(benchNow).Class)
	require.Equal(t, window.None, m.Images.At(benchNow).Class)
}
