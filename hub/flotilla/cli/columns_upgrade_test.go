package cli

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/plan"
)

func TestTableOfRunsAsksWhenActiveOnesEnd(t *testing.T) {
	active, waits, fresh := springRun(t), springRun(t), springRun(t)
	g := &waits.Status.Stages[1].BeforeGates[0]
	g.GateID, g.Status.State, waits.Status.Status.State = "id", api.StatePending, api.StatePending
	fresh.Status.Status.State = api.StateNotStarted
	objects := []*unstructured.Unstructured{
		objectOf(t, active, api.KindUpdateRun, "active"), objectOf(t, waits, api.KindUpdateRun, "waits"),
		objectOf(t, fresh, api.KindUpdateRun, "fresh"), objectOf(t, &api.UpdateRun{}, api.KindUpdateRun, "unseen"),
	}
	end := metav1.NewTime(tableNow.Add(3 * time.Hour))
	var asked []string
	hub := answering{api.VerbPlan: func(request any) (any, error) {
		asked = request.(api.PlanRequest).Runs
		return plan.Answer{Report: plan.Report{Runs: []plan.Run{{Name: "active", ExpectedEnd: &end}, {Name: "waits"}}}}, nil
	}}
	var out bytes.Buffer
	a := NewClient(New(Environment{
		Out: &out, Now: func() time.Time { return tableNow }, Getenv: func(string) string { return "" },
		Dial: func(context.Context, Connection) (Hub, error) { return hub, nil },
	}))
	a.addETAs(t.Context(), objects)
	require.Equal(t, []string{"active", "waits"}, asked, "only of runs that are under way")
	require.NoError(t, (&output{}).printTables(a, objects))
	require.Equal(t, `NAME     STATE        STAGE      DONE/TOTAL   FAILED   WAITING-ON                             ETA
active   Running      2/3 prod   2/6          1        member paris MaintenanceWindowClosed   3h
waits    Pending      2/3 prod   2/6          1        gate prod/before/Approval +1           -
fresh    NotStarted   -          2/6          1        -                                      -
unseen   -            -          -            0        -                                      -
`, out.String())
}

func TestTablesOfOtherKindsAroundUpgrades(t *testing.T) {
	shown := func(obj *unstructured.Unstructured) string { return printed(t, output{noHeaders: true}, false, obj) }
	strategy := &api.UpdateStrategy{Spec: api.UpdateStrategySpec{RunStrategy: api.RunStrategy{Stages: []api.UpdateStage{
		{Name: "canary"}, {Name: "prod", Groups: []api.UpdateGroup{{Name: "eu"}, {Name: "us"}}},
	}}}}
	require.Equal(t, "careful   canary > prod(eu,us)   -\n", shown(objectOf(t, strategy, api.KindUpdateStrategy, "careful")))

	profile := &api.AutoUpgradeProfile{
		Spec: api.AutoUpgradeProfileSpec{Channel: api.ChannelTarget, TargetKubernetesVersion: "1.31", Disabled: true},
		Status: &api.AutoUpgradeProfileStatus{
			LastTriggeredAt: metav1.NewTime(tableNow.Add(-time.Hour)), LastTriggerStatus: api.TriggerFailed,
		},
	}
	require.Equal(t, "stable   TargetKubernetesVersion 1.31   -     false   Failed   60m   -\n", shown(objectOf(t, profile, api.KindAutoUpgradeProfile, "stable")))

	catalog := &api.VersionCatalog{Spec: api.VersionCatalogSpec{Kubernetes: []api.KubernetesRelease{
		{Version: "1.9.11", State: api.ReleaseGA}, {Version: "1.30.3", State: api.ReleaseGA}, {Version: "1.31.0", State: api.ReleasePreview},
	}}}
	require.Equal(t, "default   1.30.3   3     0     -\n", shown(objectOf(t, catalog, api.KindVersionCatalog, "default")))

	gate := &api.Gate{Spec: api.GateSpec{
		GateType: api.GateScheduledStart,
		ScheduledStartProperties: &api.ScheduledStartProperties{
			ScheduledStart: api.ScheduledStart{StartDay: "Sunday", StartTime: "14:00", UTCOffset: "+01:00"}, AbsoluteStartTime: metav1.NewTime(tableNow.Add(time.Hour)),
		},
		Target: api.GateTarget{Run: "spring", Stage: "prod", Group: "eu", Timing: api.TimingBefore},
	}, Status: api.UpdateStatus{State: api.StatePending, StartTime: metav1.NewTime(tableNow.Add(-5 * time.Minute))}}
	require.Equal(t, "id    spring   before prod/eu   ScheduledStart   Pending   5m    2026-03-01 13:00Z (Sun 14:00 +01:00), in 60m\n", shown(objectOf(t, gate, api.KindGate, "id")))

	window := &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Weekly: &api.WeeklySchedule{IntervalWeeks: 1, DayOfWeek: "Sunday"}}, DurationHours: 4, StartTime: "12:00", UTCOffset: "+01:00",
	}
	maintenance := &api.MemberMaintenance{Spec: api.MaintenanceConfiguration{AutoUpgrade: window}}
	require.Equal(t, "oslo   open, closes in 3h   -     -\n", shown(objectOf(t, maintenance, api.KindMemberMaintenance, "oslo")))
}
