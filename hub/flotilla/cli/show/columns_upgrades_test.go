package show

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
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func TestTableOfRunsAsksWhenActiveOnesEnd(t *testing.T) {
	active, waits, fresh := clitest.SpringRun(t), clitest.SpringRun(t), clitest.SpringRun(t)
	g := &waits.Status.Stages[1].BeforeGates[0]
	g.GateID, g.Status.State, waits.Status.Status.State = "id", api.StatePending, api.StatePending
	fresh.Status.Status.State = api.StateNotStarted
	objects := []*unstructured.Unstructured{
		clitest.ObjectOf(t, active, api.KindUpdateRun, "active"), clitest.ObjectOf(t, waits, api.KindUpdateRun, "waits"),
		clitest.ObjectOf(t, fresh, api.KindUpdateRun, "fresh"), clitest.ObjectOf(t, &api.UpdateRun{}, api.KindUpdateRun, "unseen"),
	}
	end := metav1.NewTime(clitest.Now.Add(3 * time.Hour))
	var asked []string
	hub := clitest.Answering{api.VerbPlan: func(request any) (any, error) {
		asked = request.(api.PlanRequest).Runs
		return plan.Answer{Report: plan.Report{Runs: []plan.Run{{Name: "active", ExpectedEnd: &end}, {Name: "waits"}}}}, nil
	}}
	var out bytes.Buffer
	a := resource.New(session.New(session.Environment{
		Out: &out, Now: func() time.Time { return clitest.Now }, Getenv: func(string) string { return "" },
		Dial: func(context.Context, session.Connection) (session.Hub, error) { return hub, nil },
	}))
	a.AddETAs(t.Context(), objects)
	require.Equal(t, []string{"active", "waits"}, asked, "only of runs that are under way")
	require.NoError(t, (&Output{}).printTables(a, objects))
	require.Equal(t, `NAME     STATE        STAGE      DONE/TOTAL   FAILED   WAITING-ON                             ETA
active   Running      2/3 prod   2/6          1        member paris MaintenanceWindowClosed   3h
waits    Pending      2/3 prod   2/6          1        gate prod/before/Approval +1           -
fresh    NotStarted   -          2/6          1        -                                      -
unseen   -            -          -            0        -                                      -
`, out.String())
}

func TestTablesOfOtherKindsAroundUpgrades(t *testing.T) {
	shown := func(obj *unstructured.Unstructured) string { return printed(t, Output{NoHeaders: true}, false, obj) }
	strategy := &api.UpdateStrategy{Spec: api.UpdateStrategySpec{RunStrategy: api.RunStrategy{Stages: []api.UpdateStage{
		{Name: "canary"}, {Name: "prod", Groups: []api.UpdateGroup{{Name: "eu"}, {Name: "us"}}},
	}}}}
	require.Equal(t, "careful   canary > prod(eu,us)   -\n", shown(clitest.ObjectOf(t, strategy, api.KindUpdateStrategy, "careful")))

	profile := &api.AutoUpgradeProfile{
		Spec: api.AutoUpgradeProfileSpec{Channel: api.ChannelTarget, TargetKubernetesVersion: "1.31", Disabled: true},
		Status: &api.AutoUpgradeProfileStatus{
			LastTriggeredAt: metav1.NewTime(clitest.Now.Add(-time.Hour)), LastTriggerStatus: api.TriggerFailed,
		},
	}
	require.Equal(t, "stable   TargetKubernetesVersion 1.31   -     false   Failed   60m   -\n", shown(clitest.ObjectOf(t, profile, api.KindAutoUpgradeProfile, "stable")))

	catalog := &api.VersionCatalog{Spec: api.VersionCatalogSpec{Kubernetes: []api.KubernetesRelease{
		{Version: "1.9.11", State: api.ReleaseGA}, {Version: "1.30.3", State: api.ReleaseGA}, {Version: "1.31.0", State: api.ReleasePreview},
	}}}
	require.Equal(t, "default   1.30.3   3     0     -\n", shown(clitest.ObjectOf(t, catalog, api.KindVersionCatalog, "default")))

	gate := &api.Gate{Spec: api.GateSpec{
		GateType: api.GateScheduledStart,
		ScheduledStartProperties: &api.ScheduledStartProperties{
			ScheduledStart: api.ScheduledStart{StartDay: "Sunday", StartTime: "14:00", UTCOffset: "+01:00"}, AbsoluteStartTime: metav1.NewTime(clitest.Now.Add(time.Hour)),
		},
		Target: api.GateTarget{Run: "spring", Stage: "prod", Group: "eu", Timing: api.TimingBefore},
	}, Status: api.UpdateStatus{State: api.StatePending, StartTime: metav1.NewTime(clitest.Now.Add(-5 * time.Minute))}}
	require.Equal(t, "id    spring   before prod/eu   ScheduledStart   Pending   5m    2026-03-01 13:00Z (Sun 14:00 +01:00), in 60m\n", shown(clitest.ObjectOf(t, gate, api.KindGate, "id")))

	window := &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Weekly: &api.WeeklySchedule{IntervalWeeks: 1, DayOfWeek: "Sunday"}}, DurationHours: 4, StartTime: "12:00", UTCOffset: "+01:00",
	}
	maintenance := &api.MemberMaintenance{Spec: api.MaintenanceConfiguration{AutoUpgrade: window}}
	require.Equal(t, "oslo   open, closes in 3h   -     -     -\n", shown(clitest.ObjectOf(t, maintenance, api.KindMemberMaintenance, "oslo")))
}
