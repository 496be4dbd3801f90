package run

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/plan"
	"flotilla/core/stage"
	"flotilla/core/window"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"
)

// treeRow is one line of the tree of a run.
type treeRow struct {
	depth  int
	scope  string
	name   string
	state  api.UpdateState
	reason string
	detail string
	// done of total members; total 0: the row counts none.
	done, total int
	// fold is from which degree of folding on the row is left out; 0: never.
	fold int
}

// Degrees of folding, each hiding more of what needs no attention.
const (
	foldSettled = 1 + iota // members of stages that are done or not reached
	foldQuiet              // members of the current stage that are done or wait for their turn
	foldGroups             // groups of stages that are done or not reached
	foldNothing            // the end of the scale
)

// outlook is when a run is expected to end, zero when that is not known, and whether it is to fail then.
type outlook struct {
	end   time.Time
	fails bool
}

func (o outlook) text(now time.Time) string {
	verb := "end"
	if o.fails {
		verb = "fail"
	}
	return fmt.Sprintf("expected to %s %s, in %s", verb, plan.Moment(metav1.NewTime(o.end)), show.Until(now, o.end))
}

// runTree lists the rows of a run in the order of its strategy.
func runTree(run *api.UpdateRun, expected outlook, now time.Time) []treeRow {
	status := stage.Explained(run.Status)
	rows := []treeRow{{
		scope: "run", name: run.Name, state: status.Status.State, done: status.Finished - status.FailureCount, total: status.Members,
		detail: runDetail(run, &status, expected, now),
	}}
	current := stage.CurrentStage(&status)
	for i := range status.Stages {
		if len(status.Stages[i].Groups[0].Members) == 0 && status.Stages[i].Name == api.DeleteStage {
			continue
		}
		rows = append(rows, stageRows(&status.Stages[i], i == current, now)...)
	}
	return rows
}

func runDetail(run *api.UpdateRun, status *api.UpdateRunStatus, expected outlook, now time.Time) string {
	parts := []string{goalOf(run, status)}
	if version := status.ResolvedKubernetesVersion; version != "" {
		parts[0] += " to " + version
	}
	if len(status.RerunOf) > 0 {
		parts = append(parts, "only "+phrase.Names(status.RerunOf, 5))
	}
	if status.FailureCount > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", status.FailureCount))
	}
	switch ended := status.Status.CompletedTime; {
	case !ended.IsZero():
		parts = append(parts, "ended "+plan.Moment(ended))
	case !expected.end.IsZero():
		parts = append(parts, expected.text(now))
	}
	if status.WindowsIgnored != "" {
		parts = append(parts, "maintenance windows ignored: "+status.WindowsIgnored)
	}
	if status.Status.Error != nil {
		parts = append(parts, status.Status.Error.Message)
	}
	return strings.Join(parts, ", ")
}

// goalOf is what a run brings to its members, in short.
func goalOf(run *api.UpdateRun, status *api.UpdateRunStatus) string {
	if c := status.Content; c != nil {
		return fmt.Sprintf("snapshot %d of placement %s", c.Snapshot, c.Placement)
	}
	return run.Spec.Upgrade.Type
}

func stageRows(s *api.StageStatus, current bool, now time.Time) []treeRow {
	stage := treeRow{depth: 1, scope: "stage", name: s.Name, state: s.Status.State, detail: limits(s.MaxConcurrency, s.FailureCount, s.MaxAllowedFailures)}
	rows := gateRows(2, "before", s.BeforeGates, now)
	for j := range s.Groups {
		group := groupRows(&s.Groups[j], current, now)
		stage.done, stage.total = stage.done+group[0].done, stage.total+group[0].total
		rows = append(rows, group...)
	}
	rows = append(rows, gateRows(2, "after", s.AfterGates, now)...)
	if s.Wait != nil {
		rows = append(rows, waitRow(s, now))
	}
	return append([]treeRow{stage}, rows...)
}

func limits(atOnce, failed, allowed int) string {
	text := fmt.Sprintf("at most %d at once", atOnce)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed of %d allowed", failed, allowed)
	}
	return text
}

func groupRows(g *api.GroupStatus, current bool, now time.Time) []treeRow {
	group := treeRow{
		depth: 2, scope: "group", name: g.Name, state: g.Status.State, total: len(g.Members),
		detail: limits(g.MaxConcurrency, g.FailureCount, g.MaxAllowedFailures),
	}
	if !current {
		group.fold = foldGroups
	}
	rows := gateRows(3, "before", g.BeforeGates, now)
	for k := range g.Members {
		m := &g.Members[k]
		if m.Status.State.Done() {
			group.done++
		}
		row := treeRow{depth: 3, scope: "member", name: m.Name, state: m.Status.State, reason: m.Reason, detail: memberDetail(m, now)}
		switch {
		case !current:
			row.fold = foldSettled
		case m.Status.State.Done() || m.Status.State == api.StateNotStarted:
			row.fold = foldQuiet
		}
		rows = append(rows, row)
	}
	rows = append(rows, gateRows(3, "after", g.AfterGates, now)...)
	return append([]treeRow{group}, rows...)
}

// memberDetail says why a member is where it is, in which window class, and for which time.
func memberDetail(m *api.MemberUpdateStatus, now time.Time) string {
	var parts []string
	switch m.Status.State {
	case api.StateRunning:
		parts = append(parts, movedText(m), m.Message, "for "+session.Since(now, m.Status.StartTime.Time))
	case api.StateCompleted:
		parts = append(parts, m.Message, took(m))
	default:
		parts = append(parts, strings.TrimSuffix(m.Reason+": "+m.Message, ": "))
	}
	if m.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", m.Attempt))
	}
	switch next := m.NextEligibleTime.Time; {
	case m.Reason == api.ReasonWindowClosed && !next.IsZero():
		parts = append(parts, show.Ahead(now, next))
	case m.WindowClass > 0 && !m.Status.State.Done():
		parts = append(parts, windowWords[window.Class(m.WindowClass)])
	}
	if m.SkippedBy != "" && m.Status.State == api.StateSkipped {
		parts = append(parts, "by the "+strings.ToLower(m.SkippedBy))
	}
	return joinParts(parts)
}

// windowWords say in which window class a member was when it was last considered.
var windowWords = map[window.Class]string{
	window.Open: "window open", window.OpeningSoon: "window opens soon", window.None: "no window", window.Closed: "window closed",
}

// movedText is from which version to which a member moves, unless its message says it.
func movedText(m *api.MemberUpdateStatus) string {
	if m.ToVersion == "" || strings.Contains(m.Message, m.ToVersion) {
		return ""
	}
	return m.FromVersion + " to " + m.ToVersion
}

func took(m *api.MemberUpdateStatus) string {
	start, end := m.Status.StartTime.Time, m.Status.CompletedTime.Time
	if start.IsZero() || end.Before(start) {
		return ""
	}
	return "in " + session.Since(end, start)
}

func joinParts(parts []string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ", ")
}

func gateRows(depth int, timing string, gates []api.GateStatus, now time.Time) []treeRow {
	var rows []treeRow
	for k := range gates {
		g := &gates[k]
		row := treeRow{depth: depth, scope: "gate", name: timing + " " + g.Type, state: g.Status.State, detail: g.DisplayName}
		switch {
		case g.Status.State == api.StatePending && g.Type == api.GateScheduledStart:
			row.detail = joinParts([]string{g.DisplayName, "opens " + show.ScheduledText(g.Schedule, g.AbsoluteStartTime, now)})
		case g.Status.State == api.StatePending && g.Type == api.GateCheck:
			row.detail = joinParts([]string{g.DisplayName, "asked since " + plan.Moment(g.Status.StartTime)})
		case g.Status.State == api.StatePending:
			row.detail = joinParts([]string{g.DisplayName, "waits for approval since " + plan.Moment(g.Status.StartTime)})
		}
		rows = append(rows, row)
	}
	return rows
}

func waitRow(s *api.StageStatus, now time.Time) treeRow {
	w := s.Wait
	row := treeRow{depth: 2, scope: "wait", name: s.Name, state: w.Status.State, detail: (time.Duration(w.WaitDurationInSeconds) * time.Second).String()}
	if w.Status.State == api.StateRunning {
		row.detail = fmt.Sprintf("until %s, %s left", plan.Moment(w.Deadline), show.Until(now, w.Deadline.Time))
	}
	return row
}

// drawTree renders rows in columns, with bars for people at a terminal.
func drawTree(rows []treeRow, bars bool) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for i := range rows {
		r := &rows[i]
		label := r.scope + " " + r.name
		if r.scope == "member" {
			label = r.name
		}
		session.Say(w, "%s%s\t%s\t%s\t%s\n", strings.Repeat("  ", r.depth), label, r.state, r.progress(bars), r.detail)
	}
	_ = w.Flush() // a strings.Builder takes everything
	return show.TrimLines(b.String())
}

func (r *treeRow) progress(bars bool) string {
	if r.total == 0 {
		return ""
	}
	count := fmt.Sprintf("%d/%d", r.done, r.total)
	if bars && (r.scope == "stage" || r.scope == "run") {
		return session.Bar(r.done, r.total) + " " + count
	}
	return count
}
