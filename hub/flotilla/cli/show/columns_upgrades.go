package show

import (
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/plan"
	"flotilla/core/stage"
	"flotilla/core/version"
	"flotilla/core/window"
	"flotilla/hub/flotilla/cli/session"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runWithETA is an update run with its expected end, where the command line has asked for that.
type runWithETA struct {
	api.UpdateRun
	ExpectedEnd metav1.Time `json:"expectedEnd"`
}

func runColumns(r *runWithETA, now time.Time) []Column {
	status := orZero(r.Status)
	stage, done, waits, eta := "-", "-", "-", "-"
	if len(status.Stages) > 0 {
		stage, waits = session.OrDash(overview.StageOf(&status)), session.OrDash(waitingOn(&status))
		done = fmt.Sprintf("%d/%d", status.Finished-status.FailureCount, status.Members)
	}
	if !r.ExpectedEnd.IsZero() {
		eta = Until(now, r.ExpectedEnd.Time)
	}
	return []Column{
		{"Name", false, r.Name},
		{"State", false, session.OrDash(string(status.Status.State))},
		{"Stage", false, stage},
		{"Done/Total", false, done},
		{"Failed", false, status.FailureCount},
		{"Waiting-On", false, waits},
		{"ETA", false, eta},
		{"Age", true, session.Since(now, r.CreationTimestamp.Time)},
		{"Target", true, session.OrDash(strings.TrimSpace(r.Spec.Upgrade.Type + " " + r.Spec.Upgrade.KubernetesVersion))},
		{"Strategy", true, session.OrDash(r.Spec.StrategyName)},
		{"Profile", true, session.OrDash(r.Spec.AutoUpgradeProfile)},
	}
}

func strategyColumns(s *api.UpdateStrategy, now time.Time) []Column {
	return []Column{
		{"Name", false, s.Name},
		{"Stages", false, strategyStages(s.Spec.Stages)},
		{"Age", false, session.Since(now, s.CreationTimestamp.Time)},
	}
}

func profileColumns(p *api.AutoUpgradeProfile, now time.Time) []Column {
	status := orZero(p.Status)
	return []Column{
		{"Name", false, p.Name},
		{"Channel", false, strings.TrimSuffix(p.Spec.Channel+" "+p.Spec.TargetKubernetesVersion, " ")},
		{"Strategy", false, session.OrDash(p.Spec.StrategyName)},
		{"Enabled", false, !p.Spec.Disabled},
		{"Last-Trigger", false, session.OrDash(status.LastTriggerStatus)},
		{"Triggered", false, session.Since(now, status.LastTriggeredAt.Time)},
		{"Age", false, session.Since(now, p.CreationTimestamp.Time)},
		{"Message", true, session.OrDash(status.LastTriggerMessage)},
	}
}

func versionColumns(c *api.VersionCatalog, now time.Time) []Column {
	return []Column{
		{"Name", false, c.Name},
		{"Newest", false, newest(c.Spec.Kubernetes)},
		{"Versions", false, len(c.Spec.Kubernetes)},
		{"Images", false, len(c.Spec.NodeImages)},
		{"Age", false, session.Since(now, c.CreationTimestamp.Time)},
		{"Tracker", true, session.OrDash(c.Spec.TrackerURL)},
	}
}

func maintenanceColumns(m *api.MemberMaintenance, now time.Time) []Column {
	return []Column{
		{"Name", false, m.Name},
		{"Upgrades", false, maintenanceOpening(m.Spec.AutoUpgrade, now)},
		{"Images", false, maintenanceOpening(m.Spec.NodeOSUpgrade, now)},
		{"Content", false, maintenanceOpening(m.Spec.Default, now)},
		{"Age", false, session.Since(now, m.CreationTimestamp.Time)},
	}
}

func gateColumns(g *api.Gate, now time.Time) []Column {
	at := g.Spec.Target
	return []Column{
		{"Name", false, g.Name},
		{"Run", false, at.Run},
		{"Where", false, strings.ToLower(at.Timing) + " " + strings.TrimSuffix(at.Stage+"/"+at.Group, "/")},
		{"Type", false, g.Spec.GateType},
		{"State", false, g.Status.State},
		{"Since", false, session.Since(now, g.Status.StartTime.Time)},
		{"Opens", false, gateOpens(g, now)},
		{"Display-Name", true, session.OrDash(g.Spec.DisplayName)},
	}
}

// waitingOn says in a few words what keeps a run from going on.
func waitingOn(status *api.UpdateRunStatus) string {
	if status.BlockedBy != "" && status.Status.State == api.StateNotStarted {
		return "run " + status.BlockedBy
	}
	waits := stage.WaitsFor(status)
	if len(waits) == 0 {
		return ""
	}
	parts := strings.SplitN(waits[0], ": ", 3)
	text := parts[0]
	if strings.HasPrefix(text, "member ") && len(parts) > 1 {
		text += " " + parts[1]
	}
	if len(waits) > 1 {
		text += fmt.Sprintf(" +%d", len(waits)-1)
	}
	return text
}

// Until is how long it is to a time, "now" when that is past.
func Until(now, then time.Time) string {
	if !then.After(now) {
		return "now"
	}
	return session.Since(then, now)
}

// strategyStages is "canary > eu,us > rest": stages in order, groups beside each other.
func strategyStages(all []api.UpdateStage) string {
	stages := make([]string, len(all))
	for i := range all {
		stage := &all[i]
		stages[i] = stage.Name
		if len(stage.Groups) > 1 {
			var groups []string
			for j := range stage.Groups {
				groups = append(groups, stage.Groups[j].Name)
			}
			stages[i] += "(" + strings.Join(groups, ",") + ")"
		}
	}
	return session.OrDash(strings.Join(stages, " > "))
}

// newest is the newest version that is released.
func newest(releases []api.KubernetesRelease) string {
	var best version.Version
	for _, r := range releases {
		version, ok := version.Parse(r.Version)
		if ok && r.State != api.ReleasePreview && version.Compare(best) > 0 {
			best = version
		}
	}
	if best.IsZero() {
		return "-"
	}
	return best.String()
}

// gateOpens is when a scheduled start opens; of one that is open, when it did.
func gateOpens(g *api.Gate, now time.Time) string {
	start := orZero(g.Spec.ScheduledStartProperties)
	switch {
	case start.AbsoluteStartTime.IsZero():
		return "-"
	case g.Status.State != api.StatePending:
		return plan.Moment(start.AbsoluteStartTime)
	}
	return ScheduledText(&start.ScheduledStart, start.AbsoluteStartTime, now)
}

// maintenanceOpening says of one schedule whether it is open now, else when it opens.
func maintenanceOpening(w *api.MaintenanceWindow, now time.Time) string {
	if w == nil {
		return "-"
	}
	parsed, err := window.Parse("", w, time.LoadLocation)
	if err != nil {
		return "unreadable"
	}
	return OpeningText(parsed.At(now), now)
}

// OpeningText is "open, closes in 2h", "opens in 3d" or "does not open within 400 days".
func OpeningText(o window.Opening, now time.Time) string {
	switch {
	case o.Class == window.None:
		return "no window"
	case o.Class == window.Open && o.Closes.IsZero():
		return "open"
	case o.Class == window.Open:
		return "open, closes in " + Until(now, o.Closes)
	case o.Opens.IsZero():
		return "does not open within 400 days"
	}
	return "opens in " + Until(now, o.Opens)
}

// ScheduledText is when a scheduled start opens: in UTC, on its own clock, and how long it is until then.
func ScheduledText(s *api.ScheduledStart, at metav1.Time, now time.Time) string {
	text := plan.Moment(at)
	if s != nil && len(s.StartDay) > 3 {
		text += fmt.Sprintf(" (%s %s %s)", s.StartDay[:3], s.StartTime, s.UTCOffset)
	}
	return text + ", " + Ahead(now, at.Time)
}

// Ahead is "in 3d4h", or now.
func Ahead(now, then time.Time) string {
	if !then.After(now) {
		return "now"
	}
	return "in " + Until(now, then)
}
