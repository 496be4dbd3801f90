package door_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

const (
	flotilla = "apiVersion: flotilla.io/v1alpha1\nkind: "
	rings    = flotilla + "UpdateStrategy\nmetadata: {name: rings}\nspec:\n  stages:\n" +
		"  - {name: canary, groups: [{name: eu}], beforeGates: [{type: Approval, displayName: \"ready?\"}]}\n  - {name: prod, groups: [{name: us}]}\n"
	run     = flotilla + "UpdateRun\nmetadata: {name: r1}\nspec:\n  strategyName: rings\n  upgrade: {type: Full, kubernetesVersion: 1.29.9}\n"
	allRun  = flotilla + "UpdateRun\nmetadata: {name: r2}\nspec:\n  upgrade: {type: Full, kubernetesVersion: 1.29.9}\n"
	catalog = flotilla + "VersionCatalog\nmetadata: {name: default}\nspec:\n  kubernetes: [{version: 1.28.9, state: GA}, {version: 1.29.9, state: GA, regions: [weu]}]\n"
	window  = flotilla + "MemberMaintenance\nmetadata: {name: berlin}\nspec:\n  aksManagedAutoUpgradeSchedule:\n" +
		"    {schedule: {weekly: {intervalWeeks: 2, dayOfWeek: Saturday}}, durationHours: 4, startTime: \"02:00\"}\n"
	profile = flotilla + "AutoUpgradeProfile\nmetadata: {name: stable}\nspec: {channel: Stable, strategyName: rings}\n"
)

// member plays the registrar and an agent: a member of an update group whose versions are known.
func (h *house) member(name, group, version string) {
	h.t.Helper()
	uid := h.apply("{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: " + name +
		", labels: {" + api.LabelUpdateGroup + ": " + group + "}}}")[0].UID
	record := beat(elsewhen.Now(), name, nil)
	record.UID, record.State = uid, api.MemberReady
	write(h, subjects.Members, name, record)
	h.enrolled(name)
	require.NoError(h.t, h.server.Agent(h.t, name).PutInventory(bustest.Context(h.t), api.MemberInventory{ClusterResourceID: name, Region: "weu", ControlPlaneVersion: version}))
	bustest.Eventually(h.t, func() error {
		if _, found := h.store.Inventories.Get(name); !found {
			return errors.New("no inventory of " + name)
		}
		return nil
	})
}

// fleet is a door over two members, in groups eu and us.
func fleet(t *testing.T) *house {
	t.Helper()
	h := open(t, door.Options{})
	h.member("berlin", "eu", "1.28.9")
	h.member("boston", "us", "1.28.9")
	return h
}

// taken plays the runner: it creates a run, starts it, and goes on with what change makes of it.
func (h *house) taken(name string, start bool, change ...func(*api.UpdateRunStatus)) api.UpdateRunStatus {
	h.t.Helper()
	spec, _, found := store.TableOf[api.Spec](h.store.State, subjects.RunSpecs).Get(name)
	require.True(h.t, found)
	r, err := api.SpecOf[api.UpdateRun](&spec)
	require.NoError(h.t, err)
	var strategy *api.UpdateStrategy
	if r.Spec.StrategyName != "" {
		spec, _, _ := store.TableOf[api.Spec](h.store.State, subjects.StrategySpecs).Get(r.Spec.StrategyName)
		strategy, err = api.SpecOf[api.UpdateStrategy](&spec)
		require.NoError(h.t, err)
	}
	view := upgrade.View{Fleet: upgrade.NewFleet(time.LoadLocation)}
	for member, group := range map[string]string{"berlin": "eu", "boston": "us"} {
		require.NoError(h.t, view.Fleet.Set(upgrade.MemberFacts{
			Name: member, Group: group, Eligible: true, Reachable: true,
			Inventory: api.MemberInventory{ClusterResourceID: member, Region: "weu", ControlPlaneVersion: "1.28.9"},
		}))
	}
	now := elsewhen.Now().UTC().Truncate(time.Second)
	status, refusal := upgrade.Create(r, strategy, view, now)
	require.Nil(h.t, refusal)
	if start {
		decision, refusal := upgrade.Operate(r, &status, view, now, api.VerbRunStart, &api.RunRequest{Run: name})
		require.Nil(h.t, refusal)
		status = decision.Status
	}
	for _, f := range change {
		f(&status)
	}
	write(h, subjects.Runs, name, status)
	return status
}

type shownRun struct {
	Metadata metav1.ObjectMeta    `json:"metadata"`
	Spec     api.UpdateRunSpec    `json:"spec"`
	Status   *api.UpdateRunStatus `json:"status"`
}

func (h *house) run1() shownRun {
	h.t.Helper()
	return must[shownRun](h, api.VerbGet, api.GetRequest{Kind: api.KindUpdateRun, Name: "r1"})
}

func TestARunEntersByTheDoor(t *testing.T) {
	h := fleet(t)
	results := h.apply(run, rings, catalog) // in any order
	require.Equal(t, []string{"UpdateRun/r1 created", "UpdateStrategy/rings created", "VersionCatalog/default created"}, actions(results))
	shown := h.run1()
	require.Nil(t, shown.Status, "nobody took it up yet")
	require.Equal(t, &api.NodeImageSelection{Type: api.ImagesLatest}, shown.Spec.Upgrade.NodeImageSelection, "defaults are stored")
	require.Equal(t, []string{"UpdateRun/r1 unchanged", "UpdateStrategy/rings unchanged", "VersionCatalog/default unchanged"}, actions(h.apply(run, rings, catalog)))

	h.taken("r1", true)
	shown = h.run1()
	require.Equal(t, api.StatePending, shown.Status.Status.State)
	require.Empty(t, shown.Status.Kind, "what only the record needs is left out")
	berlin, boston := shown.Status.Stages[0].Groups[0].Members[0], shown.Status.Stages[1].Groups[0].Members[0]
	require.Equal(t, []string{"berlin", api.ReasonWaitsForGate}, []string{berlin.Name, berlin.Reason})
	require.Equal(t, []string{"boston", api.ReasonNotReached, "waits for the stages before prod"}, []string{boston.Name, boston.Reason, boston.Message})

	for _, brief := range []bool{true, false} {
		items := must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindUpdateRun, Brief: brief}).Items
		require.Len(t, items, 1)
		var listed shownRun
		require.NoError(t, json.Unmarshal(items[0], &listed))
		require.Equal(t, 2, listed.Status.Members)
		require.Equal(t, brief, len(listed.Status.Stages[0].Groups[0].Members) == 0)
	}
	for _, kind := range []string{api.KindUpdateStrategy, api.KindVersionCatalog} {
		require.Len(t, must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: kind}).Items, 1)
	}
	require.NotEmpty(t, h.events("run/r1"))
}

func (h *house) events(object string) (events []api.Audit) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		events = must[api.EventsResponse](h, api.VerbEvents, api.EventsRequest{Object: object}).Events
		if len(events) == 0 {
			return errors.New("no events of " + object)
		}
		return nil
	})
	return events
}

func TestARunThatCannotBeCreatedIsRefusedWhole(t *testing.T) {
	h := fleet(t)
	for name, c := range map[string]struct {
		documents     []string
		code, message string
	}{
		"no such strategy": {[]string{run}, api.CodeNotFound, "nothing was applied: NotFound: there is no UpdateStrategy rings"},
		"a group nobody bears": {
			[]string{flotilla + "UpdateRun\nmetadata: {name: r1}\nspec:\n  strategy: {stages: [{name: s, groups: [{name: asia}]}]}\n  upgrade: {type: NodeImageOnly}\n"},
			api.CodeInvalid, "GroupNotFound",
		},
		"nobody": {
			[]string{flotilla + "UpdateRun\nmetadata: {name: r1}\nspec:\n  strategy: {stages: [{name: s, memberSelector: {byLabel: env=none}}]}\n  upgrade: {type: NodeImageOnly}\n"},
			api.CodeInvalid, "NoMembers",
		},
		"a member twice": {
			[]string{flotilla + "UpdateRun\nmetadata: {name: r1}\nspec:\n  strategy: {stages: [{name: s, groups: [{name: eu}, {name: all, memberSelector: {byLabel: ''}}]}]}\n  upgrade: {type: NodeImageOnly}\n"},
			api.CodeInvalid, "DuplicateMember",
		},
		"a version that is not released": {
			[]string{catalog, flotilla + "UpdateRun\nmetadata: {name: r1}\nspec:\n  upgrade: {type: Full, kubernetesVersion: 1.29.8}\n"},
			api.CodeInvalid, "UnknownKubernetesVersion: spec.upgrade.kubernetesVersion: found 1.29.8",
		},
	} {
		t.Run(name, func(t *testing.T) {
			failure := h.refuse(append([]string{shopNamespace}, c.documents...)...)
			require.Equal(t, c.code, failure.Code)
			require.Contains(t, failure.Message, c.message)
			h.missing("UpdateRun", "", "r1")
			h.missing("Namespace", "", "shop")
		})
	}
	failure := h.refuse(run, allRun, flotilla+"UpdateRun\nmetadata: {name: r3}\nspec:\n  strategyName: none\n  upgrade: {type: NodeImageOnly}\n")
	require.Contains(t, failure.Message, "there is no UpdateStrategy rings")
	require.NotEmpty(t, failure.Next)
	failure = h.refuse(flotilla + "UpdateRun\nmetadata: {name: r1}\nspec:\n  autoUpgradeProfile: stable\n  upgrade: {type: NodeImageOnly}\n")
	require.Equal(t, []string{`UpdateRun/r1: spec.autoUpgradeProfile: found "stable", expected nothing: the hub sets it on the runs it makes of a profile`}, lines(failure.Faults))
}

func TestWarningsOfUpgradeDocumentsAreNotes(t *testing.T) {
	h := fleet(t)
	result := h.apply(flotilla + "UpdateStrategy\nmetadata: {name: s}\nspec: {stages: [{name: s, groups: [{name: asia}, {name: eu}]}]}\n")[0]
	require.Equal(t, []string{"no member bears group asia yet"}, result.Notes)
	result = h.apply(flotilla + "UpdateRun\nmetadata: {name: r3}\nspec:\n  strategy: {stages: [{name: s, groups: [{name: eu, maxConcurrency: \"5\"}]}]}\n  upgrade: {type: Full, kubernetesVersion: 1.29.9}\n")[0]
	require.Len(t, result.Notes, 3, "clamped, boston left out, no catalog: %v", result.Notes)
	result = h.apply(profile)[0]
	require.Equal(t, []string{"there is no UpdateStrategy rings yet: until there is one, no run can be made"}, result.Notes)
}

func TestARunIsEditedBeforeItStartsOnly(t *testing.T) {
	h := fleet(t)
	h.apply(rings, run)
	h.taken("r1", false)
	patch := func(text string) (api.ApplyResult, *api.Failure) {
		return ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{
			Request: h.id(), Object: api.ObjectRef{Kind: api.KindUpdateRun, Name: "r1"}, Patch: docs(t, text)[0],
		})
	}
	result, failure := patch("spec: {upgrade: {kubernetesVersion: 1.29.10}}")
	require.Nil(t, failure)
	require.Equal(t, int64(2), result.Generation)
	_, failure = patch("spec: {upgrade: {nodeImageSelection: {type: Consistent}}}")
	require.Equal(t, api.CodeInvalid, failure.Code)
	require.Equal(t, []string{"UpdateRun/r1: spec.upgrade.nodeImageSelection: found another selection, expected the one the run was created with; create another run"}, lines(failure.Faults))

	h.taken("r1", true)
	_, failure = patch("spec: {upgrade: {kubernetesVersion: 1.29.11}}")
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Contains(t, failure.Message, "InvalidState: run r1 is Pending")
	require.NotEmpty(t, failure.Next)
	result, failure = patch("metadata: {labels: {team: core}}")
	require.Nil(t, failure, "labels say nothing about what is upgraded")
	require.Equal(t, int64(2), result.Generation)
	require.Equal(t, map[string]string{"team": "core"}, h.run1().Metadata.Labels)
	again := h.apply(flotilla + "UpdateRun\nmetadata: {name: r1}\nspec:\n  strategyName: rings\n  upgrade: {type: Full, kubernetesVersion: 1.29.10}\n")
	require.Equal(t, int64(2), again[0].Generation, "what is stored may be applied at any time")
}

func TestARunIsDeletedUnlessItIsActive(t *testing.T) {
	h := fleet(t)
	h.apply(rings, run)
	h.taken("r1", true)
	remove := api.DeleteRequest{Request: h.id(), Object: api.ObjectRef{Kind: api.KindUpdateRun, Name: "r1"}}
	_, failure := ask[api.ApplyResult](h, api.VerbDelete, remove)
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Equal(t, "InvalidState: run r1 is Pending and cannot be deleted", failure.Message)
	require.Equal(t, "flotilla run stop r1", failure.Next)

	h.taken("r1", true, func(s *api.UpdateRunStatus) { s.Status.State = api.StateStopped })
	remove.DryRun = true
	require.Equal(t, api.ActionDeleted, must[api.ApplyResult](h, api.VerbDelete, remove).Action)
	h.run1()
	require.Equal(t, api.ActionDeleted, h.delete(api.KindUpdateRun, "", "r1").Action)
	h.missing(api.KindUpdateRun, "", "r1")

	h.apply(run)
	require.Nil(t, h.run1().Status, "the status is of the run that was")
	require.Equal(t, api.ActionDeleted, h.delete(api.KindUpdateRun, "", "r1").Action)
}

func TestARunWhoseStatusCannotBeReadStaysAsItIs(t *testing.T) {
	h := fleet(t)
	h.apply(rings, run)
	write(h, subjects.Runs, "r1", []string{"no status"})
	_, deleted := ask[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: api.ObjectRef{Kind: api.KindUpdateRun, Name: "r1"}})
	_, patched := ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{
		Request: h.id(), Object: api.ObjectRef{Kind: api.KindUpdateRun, Name: "r1"}, Patch: docs(t, "spec: {upgrade: {kubernetesVersion: 1.29.10}}")[0],
	})
	for _, failure := range []*api.Failure{deleted, patched} {
		require.NotNil(t, failure)
		require.Contains(t, failure.Message, "run.r1")
	}
	h.run1()
}

func TestProfilesAndTheirStrategies(t *testing.T) {
	h := fleet(t)
	h.apply(rings, catalog, profile)
	failure := h.refuse(flotilla + "AutoUpgradeProfile\nmetadata: {name: fixed}\nspec: {channel: TargetKubernetesVersion, targetKubernetesVersion: \"1.99\"}\n")
	require.Equal(t, []string{`AutoUpgradeProfile/fixed: spec.targetKubernetesVersion: found "1.99", expected a minor that is released: 1.28 or 1.29`}, lines(failure.Faults))
	failure = h.refuse(flotilla + "AutoUpgradeProfile\nmetadata: {name: stable}\nspec: {channel: Stable}\n")
	require.Equal(t, []string{`AutoUpgradeProfile/stable: spec.strategyName: found nothing, expected the one the profile was created with, "rings"`}, lines(failure.Faults))

	_, failure = ask[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: api.ObjectRef{Kind: api.KindUpdateStrategy, Name: "rings"}})
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Equal(t, "InvalidState: profile stable names strategy rings", failure.Message)

	spec, _, _ := store.TableOf[api.Spec](h.store.State, subjects.ProfileSpecs).Get("stable")
	write(h, subjects.Profiles, "stable", api.AutoUpgradeProfileStatus{
		Header: api.NewHeader(api.KindProfileStatus), Profile: "stable", UID: spec.UID, LastTriggerStatus: api.TriggerFailed,
		LastTriggerError: &api.UpdateError{Code: api.CodeNoMembers, Message: "nobody"},
	})
	shown := h.get(api.KindAutoUpgradeProfile, "", "stable")
	require.Equal(t, map[string]any{
		"lastTriggerStatus": "Failed", "lastTriggerError": map[string]any{"code": "NoMembers", "message": "nobody"},
	}, shown["status"])
	require.Equal(t, []api.Problem{{Object: "profile/stable", Reason: "NoMembers", Message: "nobody", Next: "flotilla describe profile stable"}},
		must[api.FleetStatus](h, api.VerbStatus, struct{}{}).Problems)

	require.Equal(t, api.ActionDeleted, h.delete(api.KindAutoUpgradeProfile, "", "stable").Action)
	require.Equal(t, api.ActionDeleted, h.delete(api.KindUpdateStrategy, "", "rings").Action)
	require.Equal(t, api.ActionDeleted, h.delete(api.KindVersionCatalog, "", "default").Action)
}

func TestMaintenanceKeepsTheDayItsIntervalsCountFrom(t *testing.T) {
	h := fleet(t)
	today := elsewhen.Now().UTC().Format(api.DateLayout)
	h.apply(window)
	start := func() string {
		shown := must[api.MemberMaintenance](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberMaintenance, Name: "berlin"})
		return shown.Spec.AutoUpgrade.StartDate
	}
	require.Contains(t, []string{today, elsewhen.Now().UTC().Format(api.DateLayout)}, start())
	table := store.TableOf[api.Spec](h.store.State, subjects.MaintenanceSpecs)
	spec, revision, _ := table.Get("berlin")
	m, err := api.SpecOf[api.MemberMaintenance](&spec)
	require.NoError(t, err)
	m.Spec.AutoUpgrade.StartDate = "2026-01-05"
	spec.Body, err = json.Marshal(m)
	require.NoError(t, err)
	_, err = h.store.Writer.Write(bustest.Context(t), store.Put(table.Key("berlin"), spec, revision))
	require.NoError(t, err)
	h.apply(window)
	require.Equal(t, "2026-01-05", start(), "applying the file again does not start anew")

	failure := h.refuse(flotilla + "MemberMaintenance\nmetadata: {name: berlin}\nspec:\n  default: {schedule: {daily: {intervalDays: 1}}, durationHours: 4, startTime: \"02:00\", timeZone: Europe/Atlantis}\n")
	require.Equal(t, []string{`MemberMaintenance/berlin: spec.default.timeZone: found "Europe/Atlantis", expected the IANA name of a zone, Europe/Paris`}, lines(failure.Faults))
	require.Equal(t, []string{"there is no member oslo yet"}, h.apply(flotilla + "MemberMaintenance\nmetadata: {name: oslo}\nspec: {}\n")[0].Notes)
	require.Equal(t, api.ActionDeleted, h.delete(api.KindMemberMaintenance, "", "berlin").Action)
}
