package door_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/door"
	"flotilla/tests/elsewhen"
)

func TestGatesAreReadAndNeverWritten(t *testing.T) {
	h := fleet(t)
	h.apply(rings, run)
	list := func() (gates []api.Gate) {
		for _, body := range must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindGate}).Items {
			var gate api.Gate
			require.NoError(t, json.Unmarshal(body, &gate))
			gates = append(gates, gate)
		}
		return gates
	}
	h.taken("r1", false)
	require.Empty(t, list(), "a gate comes to be when it is reached")
	h.taken("r1", true)
	gates := list()
	require.Len(t, gates, 1)
	gate := gates[0]
	require.Equal(t, api.GateSpec{
		DisplayName: "ready?", GateType: api.GateApproval,
		Target: api.GateTarget{Run: "r1", Stage: "canary", Timing: api.TimingBefore},
	}, gate.Spec)
	require.Equal(t, api.StatePending, gate.Status.State)
	require.False(t, gate.CreationTimestamp.IsZero())
	require.Equal(t, gate, must[api.Gate](h, api.VerbGet, api.GetRequest{Kind: api.KindGate, Name: gate.Name}))
	h.missing(api.KindGate, "", "another")

	ref := api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: api.KindGate, Name: gate.Name}
	_, deleted := ask[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: ref})
	_, patched := ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{Request: h.id(), Object: ref, Patch: json.RawMessage(`{"status":{"state":"Completed"}}`)})
	for _, failure := range []*api.Failure{deleted, patched} {
		require.Equal(t, api.CodeConflict, failure.Code)
		require.Contains(t, failure.Message, "gates are made and removed by the hub alone")
		require.Contains(t, failure.Next, "flotilla run approve")
	}
	require.Equal(t, []string{`Gate/g: kind: found "Gate", expected another kind: gates are made and removed by the hub alone; complete one with flotilla run approve`},
		lines(h.refuse(flotilla+"Gate\nmetadata: {name: g}\nspec: {}\n").Faults))

	foreign := "{apiVersion: traffic.example.com/v1, kind: Gate, metadata: {name: north}}"
	h.apply(foreign)
	require.Equal(t, "traffic.example.com/v1", h.get(api.KindGate, "", "north")["apiVersion"])
	require.Equal(t, api.ActionDeleted, must[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{
		Request: h.id(), Object: api.ObjectRef{APIVersion: "traffic.example.com/v1", Kind: api.KindGate, Name: "north"},
	}).Action)
}

func TestStatusListsWhatRunsNeedOfPeople(t *testing.T) {
	h := fleet(t)
	h.apply(rings, run, allRun)
	problems := func() (texts []string) {
		status := must[api.FleetStatus](h, api.VerbStatus, struct{}{})
		for _, p := range status.Problems {
			texts = append(texts, p.Object+" "+p.Reason+": "+p.Message)
		}
		return texts
	}
	require.Empty(t, problems(), "the runner may still take them up")
	gate := ""
	h.taken("r1", true, func(s *api.UpdateRunStatus) { gate = stage.Gates(s)[0].Name })
	require.Equal(t, []string{"run/r1 WaitsForGate: waits for an approval before stage canary: ready?"}, problems())
	status := must[api.FleetStatus](h, api.VerbStatus, struct{}{})
	require.Equal(t, "flotilla run approve r1 --gate "+gate, status.Problems[0].Next)
	require.Equal(t, map[string]int{"NotStarted": 1, "Pending": 1}, status.Runs)

	h.taken("r2", true, func(s *api.UpdateRunStatus) {
		members := s.Stages[0].Groups[0].Members
		s.Status.State = api.StateRunning
		members[0].Status.State, members[0].Reason, members[0].Message = api.StateFailed, api.ReasonUpgradeFailed, "disk full"
		members[1].Status.State, members[1].Reason, members[1].Message = api.StatePending, api.ReasonMemberUnreachable, "silent"
	})
	require.Equal(t, []string{
		"run/r1 WaitsForGate: waits for an approval before stage canary: ready?",
		"run/r2 UpgradeFailed: member berlin: disk full",
		"run/r2 MemberUnreachable: member boston: silent",
	}, problems())
	h.taken("r2", true, func(s *api.UpdateRunStatus) {
		members := s.Stages[0].Groups[0].Members
		s.Status.State = api.StateRunning
		members[0].Status.State, members[0].Reason = api.StateRunning, ""
		members[1].Status.State, members[1].Reason = api.StatePending, api.ReasonWindowClosed
		members[1].NextEligibleTime = metav1.NewTime(elsewhen.Now().Add(time.Hour))
	})
	require.Len(t, problems(), 1, "a member whose window opens in an hour needs nobody")
	h.taken("r2", true, func(s *api.UpdateRunStatus) {
		s.Status = api.UpdateStatus{State: api.StateFailed, Error: &api.UpdateError{Code: api.ReasonThresholdExceeded, Message: "1 of 2 failed"}}
	})
	require.Equal(t, "run/r2 RunFailed: 1 of 2 failed", problems()[0], "what stopped comes before what waits")

	h.taken("r1", true, func(s *api.UpdateRunStatus) {
		*s = api.UpdateRunStatus{Header: s.Header, Run: s.Run, UID: s.UID, Status: api.UpdateStatus{
			State: api.StateNotStarted, Error: &api.UpdateError{Code: api.CodeGroupNotFound, Message: "asia"},
		}}
	})
	require.Equal(t, "run/r1 GroupNotFound: asia", problems()[1])
}

func TestOtherRoomsAnswerTheirVerbs(t *testing.T) {
	h := open(t, door.Options{More: map[string]bus.Handler{
		api.VerbRunStart: func(_ context.Context, _ api.Caller, body []byte) (any, error) {
			var request api.RunRequest
			if err := json.Unmarshal(body, &request); err != nil {
				return nil, err
			}
			return map[string]string{"run": request.Run}, nil
		},
	}})
	require.Equal(t, map[string]string{"run": "r1"}, must[map[string]string](h, api.VerbRunStart, api.RunRequest{Run: "r1"}))
	h.apply(shopNamespace)
}

func TestMembersShowTheirInventories(t *testing.T) {
	h := fleet(t)
	shown := must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, "1.28.9", shown.Status.Inventory.ControlPlaneVersion)
}

// Agents that report the same cluster are a problem of the fleet.
func TestMembersOfOneClusterAreAProblem(t *testing.T) {
	h := fleet(t)
	require.NotContains(t, h.problems(), "member/berlin SharedCluster")
	require.NoError(t, h.server.Agent(t, "boston").PutInventory(bustest.Context(t), api.MemberInventory{ClusterResourceID: "berlin", ControlPlaneVersion: "1.28.9"}))
	bustest.Eventually(t, func() error {
		if _, shared := h.problems()["member/berlin SharedCluster"]; !shared {
			return fmt.Errorf("problems are %v", h.problems())
		}
		return nil
	})
	require.Contains(t, h.problems()["member/berlin SharedCluster"].Message, "berlin, boston report the same cluster, berlin")
}

type plannedRuns struct {
	Placements []struct{ Name string } `json:"placements"`
	Runs       []struct {
		Name, State string
		Members     []struct{ Name, State, Start, End, To string }
	} `json:"runs"`
	RunDetails []struct {
		Refusal  *api.Refusal `json:"refusal"`
		WaitsFor []string     `json:"waitsFor"`
	} `json:"runDetails"`
}

func TestRunsArePlanned(t *testing.T) {
	h := fleet(t)
	h.apply(rings, catalog)
	now := metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	request := api.PlanRequest{Documents: docs(t, allRun), Now: &now, Assume: &metav1.Duration{Duration: 30 * time.Minute}}
	planned := must[plannedRuns](h, api.VerbPlan, request)
	require.Len(t, planned.Runs, 1)
	require.Equal(t, "Completed", planned.Runs[0].State)
	require.Equal(t, []struct{ Name, State, Start, End, To string }{
		{"berlin", "Completed", "2026-11-20T12:00:00Z", "2026-11-20T12:30:00Z", "1.29.9"},
		{"boston", "Completed", "2026-11-20T12:30:00Z", "2026-11-20T13:00:00Z", "1.29.9"},
	}, planned.Runs[0].Members)
	h.missing(api.KindUpdateRun, "", "r2")

	planned = must[plannedRuns](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, strings.Replace(run, "rings", "none", 1)), Now: &now})
	require.Equal(t, "Refused", planned.Runs[0].State, "what an apply would refuse is the answer of a plan")
	require.Equal(t, api.CodeRunNotFound, planned.RunDetails[0].Refusal.Code)

	h.apply(run, allRun)
	_, failure := ask[plannedRuns](h, api.VerbPlan, api.PlanRequest{Runs: []string{"r9"}})
	require.Equal(t, api.CodeNotFound, failure.Code)
	planned = must[plannedRuns](h, api.VerbPlan, api.PlanRequest{Runs: []string{"*"}, Now: &now})
	require.Empty(t, planned.Runs, "none is active")
	h.taken("r1", true)
	h.apply(shopNamespace, web)
	planned = must[plannedRuns](h, api.VerbPlan, api.PlanRequest{Runs: []string{"*"}, Now: &now})
	require.Len(t, planned.Runs, 1)
	require.Empty(t, planned.Placements, "they were not asked for")
	require.Len(t, must[plannedRuns](h, api.VerbPlan, api.PlanRequest{}).Placements, 1)
	require.Equal(t, []string{"r1", "Pending"}, []string{planned.Runs[0].Name, planned.Runs[0].State})
	require.Contains(t, planned.RunDetails[0].WaitsFor[0], "gate canary/before/Approval")
	planned = must[plannedRuns](h, api.VerbPlan, api.PlanRequest{Runs: []string{"r1"}, ApproveAfter: &metav1.Duration{Duration: time.Hour}})
	require.Equal(t, "Completed", planned.Runs[0].State)
}
