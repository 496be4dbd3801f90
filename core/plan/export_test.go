package plan_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/schedule"
)

// recordedCase is a case of tests/conformance: a fleet, a policy, and bindings.
type recordedCase struct {
	ID       string `json:"id"`
	Clusters []struct {
		Name                       string                       `json:"name"`
		Labels                     map[string]string            `json:"labels"`
		Taints                     []api.Taint                  `json:"taints"`
		ResourceUsage              map[string]map[string]string `json:"resourceUsage"`
		Properties                 map[string]string            `json:"properties"`
		NoAgentStatus              bool                         `json:"noAgentStatus"`
		HeartbeatAgeSeconds        int                          `json:"heartbeatAgeSeconds"`
		Joined                     string                       `json:"joined"`
		Healthy                    string                       `json:"healthy"`
		HealthTransitionAgeSeconds int                          `json:"healthTransitionAgeSeconds"`
		Leaving                    bool                         `json:"leaving"`
	} `json:"clusters"`
	Policy           json.RawMessage   `json:"policy"`
	ExistingBindings []json.RawMessage `json:"existingBindings"`
}

type recordedBinding struct {
	Cluster             string           `json:"cluster"`
	State               api.BindingState `json:"state"`
	PolicyRevision      string           `json:"policyRevision"`
	AffinityScore       *int32           `json:"affinityScore"`
	TopologySpreadScore *int32           `json:"topologySpreadScore"`
}

var recordedNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(seconds int) string {
	return recordedNow.Add(-time.Duration(seconds) * time.Second).Format(time.RFC3339)
}

// TestExportPlansLikeTheScheduler writes every recorded case the way a KubeFleet hub exports it, plans
// it from these documents, and compares with what the scheduler decides on the same values directly:
// reading an export loses nothing that a decision depends on.
func TestExportPlansLikeTheScheduler(t *testing.T) {
	cases := recordedCases(t)
	require.Greater(t, len(cases), 100)
	for _, c := range cases {
		collected, faults := plan.Collect(exportOf(t, &c))
		require.NoError(t, faults.Err(), c.ID)
		requirePlan(t, &c, collected, directInput(t, &c))
	}
}

// TestExportWithoutPolicySnapshots leaves the policy snapshots out of the export, as the command for
// bindings alone does: what is bound is judged anew then, and one note names what is missing.
func TestExportWithoutPolicySnapshots(t *testing.T) {
	bound := 0
	for _, c := range recordedCases(t) {
		documents := slices.DeleteFunc(exportOf(t, &c), func(d plan.Document) bool { return d.Object.Kind == "ClusterSchedulingPolicySnapshot" })
		collected, faults := plan.Collect(documents)
		require.NoError(t, faults.Err(), c.ID)
		in := directInput(t, &c)
		for i := range in.Existing {
			in.Existing[i].Policy = "another"
		}
		requirePlan(t, &c, collected, in)
		notes := slices.DeleteFunc(collected.Notes, func(note string) bool { return !strings.Contains(note, "judged anew") })
		if len(in.Existing) == 0 {
			require.Empty(t, notes, c.ID)
			continue
		}
		bound++
		require.Len(t, notes, 1, c.ID)
		require.Regexp(t, `^ClusterResourcePlacement/web: \d+ bindings? (is|are) judged anew, as of an older policy, because the files lack `+
			`(web-2|web-3|web-2, web-3); add: kubectl get clusterschedulingpolicysnapshots (web-2|web-3|web-2 web-3) -o yaml$`, notes[0], c.ID)
	}
	require.Greater(t, bound, 20)
}

// requirePlan compares what a plan from documents says with what the scheduler decides.
func requirePlan(t *testing.T, c *recordedCase, collected plan.Collected, in schedule.Input) {
	t.Helper()
	answer := plan.Build(plan.Input{Subjects: collected.Subjects, Members: collected.Members, Now: recordedNow})
	require.Len(t, answer.Placements, 1, c.ID)

	direct := schedule.Schedule(in)
	var want []plan.Pick
	held := map[string]bool{}
	for _, e := range in.Existing {
		held[e.Member] = true
	}
	for _, b := range direct.Bindings {
		if b.Waiting {
			continue
		}
		change := plan.ChangeAdd
		if held[b.Member] {
			change = plan.ChangeKeep
		}
		want = append(want, plan.Pick{Member: b.Member, AffinityScore: b.AffinityScore, TopologySpreadScore: b.SpreadScore, Change: change})
	}
	got := answer.Placements[0]
	for i := range got.Picked { // of a rollout these files tell nothing
		got.Picked[i].Course, got.Picked[i].Taint = plan.Course{}, ""
	}
	require.ElementsMatch(t, want, got.Picked, c.ID)
	require.Len(t, got.Removed, len(direct.Removed), c.ID)
	require.Equal(t, direct.Fulfilled, got.Fulfilled, c.ID)
	require.Len(t, got.Verdicts, direct.Verdicts.Len(), c.ID)
	for i, v := range got.Verdicts {
		row := direct.Verdicts.Row(i)
		require.Equal(t, [3]any{row.Member, row.Filter, row.Reason}, [3]any{v.Member, v.Filter, v.Reason}, c.ID)
	}
}

func recordedCases(t *testing.T) []recordedCase {
	t.Helper()
	f, err := os.Open("../../tests/conformance/testdata/placement.jsonl.gz")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	var cases []recordedCase
	for lines.Scan() {
		var c recordedCase
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		cases = append(cases, c)
	}
	require.NoError(t, lines.Err())
	return cases
}

func (c *recordedCase) bindings(t *testing.T) []recordedBinding {
	t.Helper()
	var all []recordedBinding
	for _, raw := range c.ExistingBindings {
		var b recordedBinding
		if json.Unmarshal(raw, &b.Cluster) != nil {
			require.NoError(t, json.Unmarshal(raw, &b), c.ID)
		}
		if b.State == "" {
			b.State = api.BindingBound
		}
		all = append(all, b)
	}
	return all
}

func exportOf(t *testing.T, c *recordedCase) []plan.Document {
	t.Helper()
	var docs []plan.Document
	add := func(object map[string]any) {
		body, err := json.Marshal(object)
		require.NoError(t, err)
		docs = append(docs, plan.Document{JSON: body, Object: headOf(t, body)})
	}
	for i := range c.Clusters {
		add(exportedCluster(c, i))
	}
	policy := any(c.Policy)
	if len(c.Policy) == 0 {
		policy = nil
	}
	add(map[string]any{
		"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourcePlacement",
		"metadata": map[string]any{"name": "web", "uid": "5d0e", "generation": 4},
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}},
			"policy":            policy,
		},
	})
	add(map[string]any{
		"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterSchedulingPolicySnapshot",
		"metadata": map[string]any{"name": "web-3", "labels": map[string]any{"kubernetes-fleet.io/parent-CRP": "web"}},
		"spec":     map[string]any{"policy": policy, "policyHash": "x"},
	})
	for _, b := range c.bindings(t) {
		snapshot := "web-3"
		if b.PolicyRevision == "previous" {
			snapshot = "web-2"
		}
		add(map[string]any{
			"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
			"metadata": map[string]any{"name": "web-" + b.Cluster + "-1a2b", "labels": map[string]any{"kubernetes-fleet.io/parent-CRP": "web"}},
			"spec": map[string]any{
				"state": b.State, "targetCluster": b.Cluster, "schedulingPolicySnapshotName": snapshot,
				"clusterDecision": map[string]any{
					"clusterName": b.Cluster, "selected": true,
					"clusterScore": map[string]any{"affinityScore": b.AffinityScore, "priorityScore": b.TopologySpreadScore},
				},
			},
		})
	}
	return docs
}

func exportedCluster(c *recordedCase, i int) map[string]any {
	k := &c.Clusters[i]
	metadata := map[string]any{"name": k.Name, "labels": k.Labels, "uid": "m-" + k.Name}
	if k.Leaving {
		metadata["deletionTimestamp"] = ago(10)
	}
	condition := func(kind, status string, age int) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Recorded", "message": "", "lastTransitionTime": ago(age)}
	}
	conditions := []any{}
	if k.Joined != "" {
		conditions = append(conditions, condition("Joined", k.Joined, 100000))
	}
	if k.Healthy != "" {
		conditions = append(conditions, condition("Healthy", k.Healthy, k.HealthTransitionAgeSeconds))
	}
	status := map[string]any{"resourceUsage": k.ResourceUsage}
	if !k.NoAgentStatus {
		status["agentStatus"] = []any{map[string]any{
			"type": "MemberAgent", "conditions": conditions, "lastReceivedHeartbeat": ago(k.HeartbeatAgeSeconds),
		}}
	}
	properties := map[string]any{}
	for name, value := range k.Properties {
		properties[name] = map[string]any{"value": value, "observationTime": ago(30)}
	}
	status["properties"] = properties
	return map[string]any{
		"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster",
		"metadata": metadata, "spec": map[string]any{"taints": k.Taints}, "status": status,
	}
}

func directInput(t *testing.T, c *recordedCase) schedule.Input {
	t.Helper()
	in := schedule.Input{Placement: "web", Now: recordedNow, Fleet: schedule.NewFleet()}
	if len(c.Policy) > 0 && string(c.Policy) != "null" {
		in.Policy = &api.Policy{}
		require.NoError(t, json.Unmarshal(c.Policy, in.Policy))
	}
	for i := range c.Clusters {
		k := &c.Clusters[i]
		m := api.Member{
			Name: k.Name, Labels: map[string]string{}, Taints: k.Taints, Properties: map[string]string{},
			HasAgent: !k.NoAgentStatus, Leaving: k.Leaving,
		}
		maps.Copy(m.Labels, k.Labels)
		maps.Copy(m.Properties, k.Properties)
		for capacity, prefix := range map[string]string{"capacity": "total", "allocatable": "allocatable", "available": "available"} {
			for resource, quantity := range k.ResourceUsage[capacity] {
				m.Properties[api.PropertyResourcePrefix+prefix+"-"+resource] = quantity
			}
		}
		if m.HasAgent {
			m.LastHeartbeat = recordedNow.Add(-time.Duration(k.HeartbeatAgeSeconds) * time.Second)
			m.Joined, m.Healthy = k.Joined, k.Healthy
			m.HealthChanged = recordedNow.Add(-time.Duration(k.HealthTransitionAgeSeconds) * time.Second)
		}
		in.Fleet.Set(m)
	}
	for _, b := range c.bindings(t) {
		e := schedule.Existing{Member: b.Cluster, State: b.State, AffinityScore: b.AffinityScore, SpreadScore: b.TopologySpreadScore}
		if b.PolicyRevision == "previous" {
			e.Policy = "another"
		}
		in.Existing = append(in.Existing, e)
	}
	return in
}
