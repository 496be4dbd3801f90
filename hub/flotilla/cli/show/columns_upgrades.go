package show

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/upgrade"
	"flotilla/core/window"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// upgradeColumns are the columns of the kinds around upgrades.
var upgradeColumns = map[string][]column{
	api.KindUpdateRun: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"State", false, runState},
		{"Stage", false, func(v View) any { return onRun(v, runStage) }},
		{"Done/Total", false, func(v View) any {
			return onRun(v, func(s *api.UpdateRunStatus) string { return fmt.Sprintf("%d/%d", s.Finished-s.FailureCount, s.Members) })
		}},
		{"Failed", false, func(v View) any { return v.Number("status", "failureCount") }},
		{"Waiting-On", false, func(v View) any { return onRun(v, waitingOn) }},
		{"ETA", false, runETA},
		{"Age", true, age},
		{"Target", true, runTarget},
		{"Strategy", true, func(v View) any { return session.OrDash(v.Text("spec", "strategyName")) }},
		{"Profile", true, func(v View) any { return session.OrDash(v.Text("spec", "autoUpgradeProfile")) }},
	},
	api.KindUpdateStrategy: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"Stages", false, strategyStages},
		{"Age", false, age},
	},
	api.KindAutoUpgradeProfile: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"Channel", false, profileChannel},
		{"Strategy", false, func(v View) any { return session.OrDash(v.Text("spec", "strategyName")) }},
		{"Enabled", false, func(v View) any { return v.Field("spec", "disabled") != true }},
		{"Last-Trigger", false, func(v View) any { return session.OrDash(v.Text("status", "lastTriggerStatus")) }},
		{"Triggered", false, profileTriggered},
		{"Age", false, age},
		{"Message", true, func(v View) any { return session.OrDash(v.Text("status", "lastTriggerMessage")) }},
	},
	api.KindVersionCatalog: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"Newest", false, catalogNewest},
		{"Versions", false, func(v View) any { return len(resource.SliceOfMaps(v.Field("spec", "kubernetes"))) }},
		{"Images", false, func(v View) any { return len(resource.SliceOfMaps(v.Field("spec", "nodeImages"))) }},
		{"Age", false, age},
		{"Tracker", true, func(v View) any { return session.OrDash(v.Text("spec", "trackerURL")) }},
	},
	api.KindMemberMaintenance: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"Upgrades", false, func(v View) any { return maintenanceOpening(v, "aksManagedAutoUpgradeSchedule") }},
		{"Images", false, func(v View) any { return maintenanceOpening(v, "aksManagedNodeOSUpgradeSchedule") }},
		{"Age", false, age},
	},
	api.KindGate: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"Run", false, func(v View) any { return v.Text("spec", "target", "id") }},
		{"Where", false, gateWhere},
		{"Type", false, func(v View) any { return v.Text("spec", "gateType") }},
		{"State", false, func(v View) any { return v.Text("status", "state") }},
		{"Since", false, func(v View) any { return agoAt(v, "status", "startTime") }},
		{"Opens", false, gateOpens},
		{"Display-Name", true, func(v View) any { return session.OrDash(v.Text("spec", "displayName")) }},
	},
}

// ReadInto decodes one field of an object; false when it is absent or of another shape.
func (v View) ReadInto(value any, path ...string) bool {
	body, err := json.Marshal(v.Field(path...))
	return err == nil && string(body) != "null" && json.Unmarshal(body, value) == nil
}

// onRun renders what the status of a run says, "-" before there is one.
func onRun(v View, render func(*api.UpdateRunStatus) string) string {
	var status api.UpdateRunStatus
	if !v.ReadInto(&status, "status") || len(status.Stages) == 0 {
		return "-"
	}
	return session.OrDash(render(&status))
}

func runState(v View) any { return session.OrDash(v.Text("status", "status", "state")) }

// runStage is the stage that is under way, "2/3 prod".
func runStage(status *api.UpdateRunStatus) string {
	i := upgrade.CurrentStage(status)
	if i < 0 || status.Status.State == api.StateNotStarted {
		return ""
	}
	return fmt.Sprintf("%d/%d %s", i+1, len(status.Stages), status.Stages[i].Name)
}

// waitingOn says in a few words what keeps a run from going on.
func waitingOn(status *api.UpdateRunStatus) string {
	if status.BlockedBy != "" && status.Status.State == api.StateNotStarted {
		return "run " + status.BlockedBy
	}
	waits := upgrade.WaitsFor(status)
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

// runETA is how long the run is expected to go on.
func runETA(v View) any {
	end, err := time.Parse(time.RFC3339, v.Text(resource.FieldETA))
	if err != nil {
		return "-"
	}
	return Until(v.now, end)
}

// Until is how long it is to a time, "now" when that is past.
func Until(now, then time.Time) string {
	if !then.After(now) {
		return "now"
	}
	return session.Since(then, now)
}

func runTarget(v View) any {
	if version := v.Text("spec", "upgrade", "kubernetesVersion"); version != "" {
		return v.Text("spec", "upgrade", "type") + " " + version
	}
	return session.OrDash(v.Text("spec", "upgrade", "type"))
}

// strategyStages is "canary > eu,us > rest": stages in order, groups beside each other.
func strategyStages(v View) any {
	var strategy api.RunStrategy
	if !v.ReadInto(&strategy, "spec") {
		return "-"
	}
	stages := make([]string, len(strategy.Stages))
	for i := range strategy.Stages {
		stage := &strategy.Stages[i]
		stages[i] = stage.Name
		if len(stage.Groups) > 1 {
			var groups []string
			for j := range stage.Groups {
				groups = append(groups, stage.Groups[j].Name)
			}
			stages[i] += "(" + strings.Join(groups, ",") + ")"
		}
	}
	return strings.Join(stages, " > ")
}

func profileChannel(v View) any {
	channel := v.Text("spec", "channel")
	if target := v.Text("spec", "targetKubernetesVersion"); target != "" {
		channel += " " + target
	}
	return channel
}

func profileTriggered(v View) any { return agoAt(v, "status", "lastTriggeredAt") }

// agoAt is how long ago the time at a path was.
func agoAt(v View, path ...string) any {
	at, err := time.Parse(time.RFC3339, v.Text(path...))
	if err != nil {
		return "-"
	}
	return session.Since(v.now, at)
}

// catalogNewest is the newest released version of the catalog.
func catalogNewest(v View) any {
	var best upgrade.Version
	for _, entry := range resource.SliceOfMaps(v.Field("spec", "kubernetes")) {
		version, ok := upgrade.ParseVersion(fmt.Sprint(entry["version"]))
		if ok && entry["state"] != api.ReleasePreview && version.Compare(best) > 0 {
			best = version
		}
	}
	if best.IsZero() {
		return "-"
	}
	return best.String()
}

// gateWhere is "before prod" or "after prod/eu".
func gateWhere(v View) any {
	at := v.Text("spec", "target", "stage")
	if group := v.Text("spec", "target", "group"); group != "" {
		at += "/" + group
	}
	return strings.ToLower(v.Text("spec", "target", "timing")) + " " + at
}

// gateOpens is when a scheduled start opens; of one that is open, when it did.
func gateOpens(v View) any {
	var start api.ScheduledStartProperties
	if !v.ReadInto(&start, "spec", "scheduledStartProperties") || start.AbsoluteStartTime.IsZero() {
		return "-"
	}
	if v.Text("status", "state") != string(api.StatePending) {
		return plan.Moment(start.AbsoluteStartTime)
	}
	return ScheduledText(&start.ScheduledStart, start.AbsoluteStartTime, v.now)
}

// maintenanceOpening says of one schedule whether it is open now, else when it opens.
func maintenanceOpening(v View, schedule string) any {
	var w api.MaintenanceWindow
	if !v.ReadInto(&w, "spec", schedule) {
		return "-"
	}
	parsed, err := window.Parse(schedule, &w, time.LoadLocation)
	if err != nil {
		return "unreadable"
	}
	return OpeningText(parsed.At(v.now), v.now)
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
