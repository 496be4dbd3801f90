package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/upgrade"
	"flotilla/core/window"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// upgradeColumns are the columns of the kinds around upgrades.
var upgradeColumns = map[string][]column{
	api.KindUpdateRun: {
		{"Name", false, func(v view) any { return v.object.GetName() }},
		{"State", false, runState},
		{"Stage", false, func(v view) any { return onRun(v, runStage) }},
		{"Done/Total", false, func(v view) any {
			return onRun(v, func(s *api.UpdateRunStatus) string { return fmt.Sprintf("%d/%d", s.Finished-s.FailureCount, s.Members) })
		}},
		{"Failed", false, func(v view) any { return v.number("status", "failureCount") }},
		{"Waiting-On", false, func(v view) any { return onRun(v, waitingOn) }},
		{"ETA", false, runETA},
		{"Age", true, age},
		{"Target", true, runTarget},
		{"Strategy", true, func(v view) any { return orDash(v.text("spec", "strategyName")) }},
		{"Profile", true, func(v view) any { return orDash(v.text("spec", "autoUpgradeProfile")) }},
	},
	api.KindUpdateStrategy: {
		{"Name", false, func(v view) any { return v.object.GetName() }},
		{"Stages", false, strategyStages},
		{"Age", false, age},
	},
	api.KindAutoUpgradeProfile: {
		{"Name", false, func(v view) any { return v.object.GetName() }},
		{"Channel", false, profileChannel},
		{"Strategy", false, func(v view) any { return orDash(v.text("spec", "strategyName")) }},
		{"Enabled", false, func(v view) any { return v.field("spec", "disabled") != true }},
		{"Last-Trigger", false, func(v view) any { return orDash(v.text("status", "lastTriggerStatus")) }},
		{"Triggered", false, profileTriggered},
		{"Age", false, age},
		{"Message", true, func(v view) any { return orDash(v.text("status", "lastTriggerMessage")) }},
	},
	api.KindVersionCatalog: {
		{"Name", false, func(v view) any { return v.object.GetName() }},
		{"Newest", false, catalogNewest},
		{"Versions", false, func(v view) any { return len(sliceOfMaps(v.field("spec", "kubernetes"))) }},
		{"Images", false, func(v view) any { return len(sliceOfMaps(v.field("spec", "nodeImages"))) }},
		{"Age", false, age},
		{"Tracker", true, func(v view) any { return orDash(v.text("spec", "trackerURL")) }},
	},
	api.KindMemberMaintenance: {
		{"Name", false, func(v view) any { return v.object.GetName() }},
		{"Upgrades", false, func(v view) any { return maintenanceOpening(v, "aksManagedAutoUpgradeSchedule") }},
		{"Images", false, func(v view) any { return maintenanceOpening(v, "aksManagedNodeOSUpgradeSchedule") }},
		{"Age", false, age},
	},
	api.KindGate: {
		{"Name", false, func(v view) any { return v.object.GetName() }},
		{"Run", false, func(v view) any { return v.text("spec", "target", "id") }},
		{"Where", false, gateWhere},
		{"Type", false, func(v view) any { return v.text("spec", "gateType") }},
		{"State", false, func(v view) any { return v.text("status", "state") }},
		{"Since", false, func(v view) any { return agoAt(v, "status", "startTime") }},
		{"Opens", false, gateOpens},
		{"Display-Name", true, func(v view) any { return orDash(v.text("spec", "displayName")) }},
	},
}

// readInto decodes one field of an object; false when it is absent or of another shape.
func (v view) readInto(value any, path ...string) bool {
	body, err := json.Marshal(v.field(path...))
	return err == nil && string(body) != "null" && json.Unmarshal(body, value) == nil
}

// onRun renders what the status of a run says, "-" before there is one.
func onRun(v view, render func(*api.UpdateRunStatus) string) string {
	var status api.UpdateRunStatus
	if !v.readInto(&status, "status") || len(status.Stages) == 0 {
		return "-"
	}
	return orDash(render(&status))
}

func runState(v view) any { return orDash(v.text("status", "status", "state")) }

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
func runETA(v view) any {
	end, err := time.Parse(time.RFC3339, v.text(fieldETA))
	if err != nil {
		return "-"
	}
	return until(v.now, end)
}

// until is how long it is to a time, "now" when that is past.
func until(now, then time.Time) string {
	if !then.After(now) {
		return "now"
	}
	return since(then, now)
}

func runTarget(v view) any {
	if version := v.text("spec", "upgrade", "kubernetesVersion"); version != "" {
		return v.text("spec", "upgrade", "type") + " " + version
	}
	return orDash(v.text("spec", "upgrade", "type"))
}

// strategyStages is "canary > eu,us > rest": stages in order, groups beside each other.
func strategyStages(v view) any {
	var strategy api.RunStrategy
	if !v.readInto(&strategy, "spec") {
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

func profileChannel(v view) any {
	channel := v.text("spec", "channel")
	if target := v.text("spec", "targetKubernetesVersion"); target != "" {
		channel += " " + target
	}
	return channel
}

func profileTriggered(v view) any { return agoAt(v, "status", "lastTriggeredAt") }

// agoAt is how long ago the time at a path was.
func agoAt(v view, path ...string) any {
	at, err := time.Parse(time.RFC3339, v.text(path...))
	if err != nil {
		return "-"
	}
	return since(v.now, at)
}

// catalogNewest is the newest released version of the catalog.
func catalogNewest(v view) any {
	var best upgrade.Version
	for _, entry := range sliceOfMaps(v.field("spec", "kubernetes")) {
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
func gateWhere(v view) any {
	at := v.text("spec", "target", "stage")
	if group := v.text("spec", "target", "group"); group != "" {
		at += "/" + group
	}
	return strings.ToLower(v.text("spec", "target", "timing")) + " " + at
}

// gateOpens is when a scheduled start opens; of one that is open, when it did.
func gateOpens(v view) any {
	var start api.ScheduledStartProperties
	if !v.readInto(&start, "spec", "scheduledStartProperties") || start.AbsoluteStartTime.IsZero() {
		return "-"
	}
	if v.text("status", "state") != string(api.StatePending) {
		return plan.Moment(start.AbsoluteStartTime)
	}
	return scheduledText(&start.ScheduledStart, start.AbsoluteStartTime, v.now)
}

// maintenanceOpening says of one schedule whether it is open now, else when it opens.
func maintenanceOpening(v view, schedule string) any {
	var w api.MaintenanceWindow
	if !v.readInto(&w, "spec", schedule) {
		return "-"
	}
	parsed, err := window.Parse(schedule, &w, time.LoadLocation)
	if err != nil {
		return "unreadable"
	}
	return openingText(parsed.At(v.now), v.now)
}

// openingText is "open, closes in 2h", "opens in 3d" or "does not open within 400 days".
func openingText(o window.Opening, now time.Time) string {
	switch {
	case o.Class == window.None:
		return "no window"
	case o.Class == window.Open && o.Closes.IsZero():
		return "open"
	case o.Class == window.Open:
		return "open, closes in " + until(now, o.Closes)
	case o.Opens.IsZero():
		return "does not open within 400 days"
	}
	return "opens in " + until(now, o.Opens)
}

// scheduledText is when a scheduled start opens: in UTC, on its own clock, and how long it is until then.
func scheduledText(s *api.ScheduledStart, at metav1.Time, now time.Time) string {
	text := plan.Moment(at)
	if s != nil && len(s.StartDay) > 3 {
		text += fmt.Sprintf(" (%s %s %s)", s.StartDay[:3], s.StartTime, s.UTCOffset)
	}
	return text + ", " + ahead(now, at.Time)
}

// ahead is "in 3d4h", or now.
func ahead(now, then time.Time) string {
	if !then.After(now) {
		return "now"
	}
	return "in " + until(now, then)
}
