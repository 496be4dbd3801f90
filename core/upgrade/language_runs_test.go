package upgrade_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
	"flotilla/core/validate/upgrades"
	"flotilla/core/version"
	"flotilla/core/window"
)

func (s *scene) object(name, input string) *api.UpdateRun {
	run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(s.now), Generation: 1}}
	s.decode(strings.NewReplacer("version: U-", "version: "+families["U"]+"-", "version: W-", "version: "+families["W"]+"-").Replace(input), &run.Spec)
	return run
}

func (s *scene) createRun(args []string, input string) string {
	run := s.object(args[0], input)
	if refusal := s.create(run); refusal != nil {
		return refused(refusal)
	}
	status := &s.runs[run.Name].status
	out := fmt.Sprintf("%s, %d stages, %d members\n", status.Status.State, len(status.Stages), status.Members)
	for _, warning := range status.Warnings {
		out += "  warning: " + warning + "\n"
	}
	return out
}

// edit replaces the spec of a run, as the door does.
func (s *scene) edit(args []string, input string) string {
	old, run := s.runs[args[0]], s.object(args[0], input)
	if refusal := upgrade.CheckEdit(old.object, run, &old.status); refusal != nil {
		return refused(refusal)
	}
	return s.createRun(args, input)
}

func (s *scene) delete(args []string, _ string) string {
	locks, refusal := upgrade.CheckDelete(&s.runs[args[0]].status)
	if refusal != nil {
		return refused(refusal)
	}
	for _, lock := range locks {
		delete(s.locks, lock.Member)
		delete(s.owners, lock.Member)
	}
	delete(s.runs, args[0])
	return "ok"
}

// did prints how an operation went and what followed.
func (s *scene) did(noop bool, refusal *api.Refusal) string {
	switch {
	case refusal != nil:
		return refused(refusal)
	case noop:
		return "noop\n" + s.news()
	default:
		return "ok\n" + s.news()
	}
}

func (s *scene) operation(verb string) func([]string, string) string {
	return func(args []string, _ string) string {
		return s.did(s.operate(args[0], verb, &api.RunRequest{}))
	}
}

func (s *scene) start(args []string, _ string) string {
	ask := &api.RunRequest{
		IncludeSkipped: slices.Contains(args, "include-skipped"), IgnoreMaintenanceWindows: slices.Contains(args, "ignore-windows"),
	}
	if slices.Contains(args, "because") {
		ask.Reason = strings.Join(args[slices.Index(args, "because")+1:], " ")
	}
	return s.did(s.operate(args[0], api.VerbRunStart, ask))
}

func (s *scene) approve(args []string, _ string) string {
	return s.did(s.operate(args[0], api.VerbRunApprove, &api.RunRequest{Gate: args[1]}))
}

func (s *scene) skip(args []string, _ string) string {
	ask := &api.RunRequest{}
	for _, target := range args[1:] {
		kind, name, _ := strings.Cut(target, ":")
		ask.Targets = append(ask.Targets, api.SkipTarget{Type: kind, Name: name})
	}
	return s.did(s.operate(args[0], api.VerbRunSkip, ask))
}

func (s *scene) rerun(args []string, _ string) string {
	return s.did(s.operate(args[0], api.VerbRunRerun, &api.RunRequest{Members: args[1:]}))
}

func (s *scene) tree(args []string, _ string) string {
	return stage.Text(&s.runs[args[0]].status)
}

func (s *scene) list([]string, string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.runs)) {
		r := s.runs[name]
		fmt.Fprintf(&b, "%s %s %s", name, r.status.Status.State, r.status.ResolvedKubernetesVersion)
		if r.status.BlockedBy != "" {
			fmt.Fprintf(&b, " blocked by %s", r.status.BlockedBy)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// limits prints the resolved numbers of a run.
func (s *scene) limits(args []string, _ string) string {
	var b strings.Builder
	for _, st := range s.runs[args[0]].status.Stages {
		fmt.Fprintf(&b, "stage %s: %d at once, %d failures allowed, %d failed\n", st.Name, st.MaxConcurrency, st.MaxAllowedFailures, st.FailureCount)
		for _, g := range st.Groups {
			fmt.Fprintf(&b, "  group %s: %d members, %d at once, %d failures allowed, %d failed\n",
				g.Name, len(g.Members), g.MaxConcurrency, g.MaxAllowedFailures, g.FailureCount)
		}
	}
	return b.String()
}

// show prints everything about members, or about the run.
func (s *scene) show(args []string, _ string) string {
	var b strings.Builder
	status := stage.Explained(&s.runs[args[0]].status)
	if len(args) == 1 {
		fmt.Fprintf(&b, "%s, %d failed\n", status.Status.State, status.FailureCount)
		if status.Status.Error != nil {
			fmt.Fprintf(&b, "  %s: %s\n", status.Status.Error.Code, status.Status.Error.Message)
		}
		for _, what := range stage.WaitsFor(&status) {
			fmt.Fprintf(&b, "  waits for %s\n", what)
		}
	}
	for _, name := range args[1:] {
		m, ok := stage.MemberStatus(&status, name)
		require.True(s.t, ok, name)
		fmt.Fprintf(&b, "%s %s %s, attempt %d\n  %s\n", name, m.Status.State, m.Reason, m.Attempt, m.Message)
		for _, a := range m.History {
			late := map[bool]string{true: ", late"}[a.Late]
			fmt.Fprintf(&b, "  attempt %d: %s %s%s\n", a.Attempt, a.State, a.Reason, late)
		}
		if f, in := s.fleet.Member(name); in {
			fmt.Fprintf(&b, "  is at %s", f.Inventory.ControlPlaneVersion)
			for _, p := range f.Inventory.NodePools {
				fmt.Fprintf(&b, ", %s %s %s", p.Name, p.KubernetesVersion, p.NodeImageVersion)
			}
			b.WriteString("\n")
		}
	}
	return shortImages(b.String())
}

// resolved prints what a run was bound to.
func (s *scene) resolved(args []string, _ string) string {
	status := &s.runs[args[0]].status
	out := "version " + status.ResolvedKubernetesVersion + "\n"
	if status.NodeImageSelection != nil {
		for _, image := range status.NodeImageSelection.SelectedNodeImageVersions {
			out += fmt.Sprintf("image %s %q\n", image.Family, image.Version)
		}
	}
	return shortImages(out)
}

// highest prints the largest numbers of members that ran at once so far, from the events.
func (s *scene) highest(args []string, _ string) string {
	top, now := map[string]int{}, map[string]int{}
	for i, e := range s.events {
		if e.Scope != "member" || e.Run != args[0] {
			continue
		}
		change := 0
		switch {
		case e.To == api.StateRunning:
			change = 1
		case e.From == api.StateRunning:
			change = -1
		}
		for _, scope := range []string{"run", "stage " + e.Stage, "group " + e.Group} {
			now[scope] += change
		}
		if i+1 == len(s.events) || s.events[i+1].At.After(e.At) {
			for scope, n := range now {
				top[scope] = max(top[scope], n)
			}
		}
	}
	var b strings.Builder
	for _, scope := range slices.Sorted(maps.Keys(top)) {
		fmt.Fprintf(&b, "%s: %d\n", scope, top[scope])
	}
	return b.String()
}

// executions prints how many operations agents executed, and whether any more than once.
func (s *scene) executions([]string, string) string {
	most := 0
	for _, n := range s.executed {
		most = max(most, n)
	}
	return fmt.Sprintf("%d operations, each at most %d times ok", len(s.executed), most)
}

func (s *scene) lockList([]string, string) string {
	var b strings.Builder
	for _, member := range slices.Sorted(maps.Keys(s.locks)) {
		fmt.Fprintf(&b, "%s held by %s\n", member, s.owners[member])
	}
	return b.String() + fmt.Sprintf("%d locks", len(s.locks))
}

func (s *scene) freeze(args []string, _ string) string {
	s.freezes[args[0]] = api.Freeze{Scope: args[0], By: "anna", Reason: "sale"}
	return ""
}

func (s *scene) unfreeze(args []string, _ string) string {
	delete(s.freezes, args[0])
	return ""
}

func (s *scene) gates(args []string, _ string) string {
	r, ok := s.runs[args[0]]
	if !ok {
		return "no gates"
	}
	var b strings.Builder
	for _, g := range stage.Gates(&r.status) {
		where := strings.TrimSuffix(g.Spec.Target.Stage+"/"+g.Spec.Target.Group, "/")
		fmt.Fprintf(&b, "%s %s %s %s, id of %d characters", where, g.Spec.Target.Timing, g.Spec.GateType, g.Status.State, len(g.Name))
		if p := g.Spec.ScheduledStartProperties; p != nil {
			fmt.Fprintf(&b, ", at %s", p.AbsoluteStartTime.UTC().Format(time.RFC3339))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (s *scene) deleteGate(args []string, _ string) string {
	return refused(upgrade.RefuseGateChange(&api.Gate{ObjectMeta: metav1.ObjectMeta{Name: args[0]}}))
}

// profile checks a profile, or a change of it, and keeps it.
func (s *scene) profile(args []string, input string) string {
	p := &api.AutoUpgradeProfile{ObjectMeta: metav1.ObjectMeta{Name: args[0], UID: "uid-profile", CreationTimestamp: metav1.NewTime(s.now)}}
	s.decode(input, &p.Spec)
	faults := upgrades.AutoUpgradeProfile(p, s.view("").Catalog.Minors())
	old, exists := s.profiles[args[0]]
	if exists {
		faults = append(faults, upgrades.AutoUpgradeProfileChange(p, old.object)...)
	}
	if refusal := api.InvalidArgument(faults); refusal != nil {
		return refused(refusal)
	}
	if exists {
		p.CreationTimestamp = old.object.CreationTimestamp
		old.object = p
	} else {
		s.profiles[args[0]] = &worldProfile{object: p}
	}
	if len(args) > 1 && args[1] == "quietly" {
		delete(s.profiles, args[0])
		return "ok"
	}
	s.settle()
	return "ok\n" + s.news()
}

func (s *scene) profileStatus(args []string, _ string) string {
	status := s.profiles[args[0]].status
	out := fmt.Sprintf("%s %v: %s\n", status.LastTriggerStatus, status.LastTriggerUpgradeVersions, status.LastTriggerMessage)
	if status.LastTriggerError != nil {
		out += "  " + status.LastTriggerError.Code + "\n"
	}
	return shortImages(out)
}

// generate asks a profile for its run without starting it. The profile itself stays out of the world.
func (s *scene) generate(args []string, input string) string {
	p := &worldProfile{object: &api.AutoUpgradeProfile{ObjectMeta: metav1.ObjectMeta{Name: args[0]}}}
	s.decode(input, &p.object.Spec)
	name, made, refusal := upgrade.GenerateRun(s.profileInput(p))
	if refusal != nil {
		return refused(refusal)
	}
	if made != nil {
		s.adopt(made)
	}
	return fmt.Sprintf("%s %s\n", name, s.runs[name].status.Status.State) + s.news()
}

// class prints what a schedule says at instants.
func (s *scene) class(args []string, input string) string {
	w := s.windows[args[0]]
	schedule, err := window.Parse("window", &w, time.LoadLocation)
	require.NoError(s.t, err)
	var b strings.Builder
	for line := range strings.Lines(input) {
		at := instant(strings.TrimSpace(line))
		o := schedule.At(at)
		fmt.Fprintf(&b, "%s class %d, %s to %s\n", at.Format(time.RFC3339), o.Class, timeText(o.Opens), timeText(o.Closes))
	}
	return b.String()
}

func timeText(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Format(time.RFC3339)
}

// opens prints the next openings of a schedule from an instant on.
func (s *scene) opens(args []string, _ string) string {
	w := s.windows[args[0]]
	schedule, err := window.Parse("window", &w, time.LoadLocation)
	require.NoError(s.t, err)
	count, err := strconv.Atoi(args[2])
	require.NoError(s.t, err)
	var b strings.Builder
	at := s.time(args[1])
	for range count {
		o := schedule.At(at)
		fmt.Fprintf(&b, "%s class %d\n", timeText(o.Opens), schedule.At(o.Opens).Class)
		at = o.Closes
	}
	return b.String()
}

func (s *scene) compare(args []string, _ string) string {
	a, okA := version.Parse(args[0])
	b, okB := version.Parse(args[1])
	require.True(s.t, okA && okB)
	return strconv.Itoa(a.Compare(b))
}

func (s *scene) images(args []string, _ string) string {
	return string(version.CompareImages(fullImage(args[0]), fullImage(args[1])))
}

// commands prints what agents are told for a run now.
func (s *scene) commands(args []string, _ string) string {
	r := s.runs[args[0]]
	var b strings.Builder
	for _, wanted := range upgrade.Operations(r.object, &r.status) {
		op := wanted.Operation
		fmt.Fprintf(&b, "%s %s attempt %d, control plane %q, checks %s, timeout %ds, no unattended upgrades %v\n",
			wanted.Member, op.Type, op.Attempt, op.ControlPlaneVersion, op.Checks, op.TimeoutSeconds, op.DisableUnattendedUpgrades)
		for _, p := range op.NodePools {
			fmt.Fprintf(&b, "  pool %s to %q and image %q, newest %v, drop snapshot %v\n", p.Pool, p.ToVersion, p.To, p.Newest, p.DropSnapshot)
		}
	}
	return shortImages(b.String())
}

// plan prints the expected course of a run that exists, or of one given as YAML. Gates are approved
// after the duration that follows the name, or never.
func (s *scene) plan(args []string, input string) string {
	planned := upgrade.PlannedRun{}
	view := s.view(args[0])
	if r, ok := s.runs[args[0]]; ok {
		planned.Run, planned.Status = r.object, &r.status
	} else {
		planned.Run = s.object(args[0], input)
		planned.Run.UID = "uid-planned"
		planned.Strategy = s.plans[planned.Run.Spec.StrategyName]
	}
	a := upgrade.Assumptions{Duration: 10 * time.Minute}
	if len(args) > 1 {
		after, err := time.ParseDuration(args[1])
		require.NoError(s.t, err)
		a.ApproveAfter = &after
	}
	var known upgrade.Others
	for _, name := range slices.Sorted(maps.Keys(s.runs)) {
		known.Runs = append(known.Runs, s.runs[name].status)
	}
	for _, name := range slices.Sorted(maps.Keys(s.locks)) {
		known.Locks = append(known.Locks, api.MemberLock{Member: name, Holder: s.locks[name].Operation, Owner: "run " + s.owners[name]})
	}
	a.Ends = known.Ends(view.Fleet, a)
	report := upgrade.Plan([]upgrade.PlannedRun{planned}, view, s.now, a)
	return shortImages(planText(&report.Runs[0]))
}

func planText(p *upgrade.RunPlan) string {
	var b strings.Builder
	end := "never"
	if p.ExpectedEnd != nil {
		end = p.ExpectedEnd.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(&b, "%s %s, ends %s\n", p.Name, p.State, end)
	if p.Refusal != nil {
		return b.String() + refused(p.Refusal)
	}
	for _, what := range p.WaitsFor {
		fmt.Fprintf(&b, "  waits for %s\n", what)
	}
	for _, m := range p.Members {
		start, stop := "-", "-"
		if m.Start != nil {
			start = m.Start.UTC().Format("01-02 15:04")
		}
		if m.End != nil {
			stop = m.End.UTC().Format("01-02 15:04")
		}
		fmt.Fprintf(&b, "  %s %s/%s class %d, %s to %s, %q to %q, %s %s\n", m.Name, m.Stage, m.Group, m.WindowClass, start, stop, m.From, m.To, m.State, m.Reason)
	}
	return b.String()
}
