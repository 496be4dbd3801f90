package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

// Every recorded placement, told to flotilla plan --offline as a KubeFleet hub exports it, gets the recorded
// answer, or that of the core where a decision of the specification departs from it.
func TestPlacementsAsTheirUserSaysThem(t *testing.T) {
	cases := casesOf[placementCase](t, placementRecording)
	all := tellEach(cases, func(c *placementCase) telling { return tellPlacement(t, c) })
	reportTellings(t, "placement", "flotilla plan --offline", all, nil)
}

func tellPlacement(t *testing.T, c *placementCase) telling {
	t.Helper()
	told := telling{outcome: outcome{id: c.ID}}
	f := newFolder(t)
	f.write("fleet.yaml", c.memberClusters()...)
	f.write("placement.yaml", c.placement())
	f.write("bindings.yaml", c.bindings()...)
	var report struct {
		Placements []placementAnswer `json:"placements"`
	}
	if refusal := f.answer(&report, "plan", "--offline", "--now", recordingTime.Format(time.RFC3339)); refusal != "" {
		told.differences = []string{refusal}
		return told
	}
	require.Len(t, report.Placements, 1, c.ID)
	got := report.Placements[0].placed()
	if judged := judgePlacement(t, c); judged.decision == "" {
		told.differences = c.compare(got)
		return told
	}
	plan := schedule.Schedule(c.input())
	if here, core := asText(got), asText(placedBy(&plan)); here != core {
		told.differences = []string{fmt.Sprintf("here %s, the core %s", here, core)}
	}
	return told
}

// memberClusters are the fleet of a case.
func (c *placementCase) memberClusters() []any {
	var out []any
	for i := range c.Clusters {
		out = append(out, c.Clusters[i].memberCluster())
	}
	return out
}

func (c *recordedCluster) memberCluster() *api.MemberCluster {
	out := &api.MemberCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: "cluster.kubernetes-fleet.io/v1", Kind: api.KindMemberCluster},
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: c.Labels},
		Spec:       api.MemberClusterSpec{Taints: c.Taints},
		Status:     &api.MemberClusterStatus{Properties: map[string]api.PropertyValue{}, ResourceUsage: &c.Usage},
	}
	if c.Leaving {
		out.DeletionTimestamp = new(metav1.NewTime(recordingTime))
	}
	for name, value := range c.Properties {
		out.Status.Properties[name] = api.PropertyValue{Value: value}
	}
	if c.NoAgent {
		return out
	}
	agent := api.AgentStatus{Type: api.AgentTypeMember, LastReceivedHeartbeat: metav1.NewTime(ago(c.Heartbeat))}
	changed := metav1.NewTime(ago(c.HealthAge))
	for kind, status := range map[string]string{api.ConditionJoined: c.Joined, api.ConditionHealthy: c.Healthy} {
		if status != "" {
			agent.Conditions = append(agent.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: "Recorded", LastTransitionTime: changed})
		}
	}
	out.Status.AgentStatus = []api.AgentStatus{agent}
	return out
}

const (
	toldPlacement  = "recorded"
	parentLabel    = "kubernetes-fleet.io/parent-CRP"
	currentPolicy  = toldPlacement + "-1"
	previousPolicy = toldPlacement + "-0"
)

// placement is the ClusterResourcePlacement of a case.
func (c *placementCase) placement() *api.Placement {
	return &api.Placement{
		TypeMeta:   metav1.TypeMeta{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: api.KindClusterResourcePlacement},
		ObjectMeta: metav1.ObjectMeta{Name: toldPlacement},
		Spec: api.PlacementSpec{
			Policy: c.Policy, ResourceSelectors: []api.ResourceSelector{{Version: "v1", Kind: "Namespace", Name: "web"}},
		},
	}
}

// bindings are what a KubeFleet hub exports of the present bindings: with the snapshots of the policies that
// they were made under.
func (c *placementCase) bindings() []any {
	if len(c.Existing) == 0 {
		return nil
	}
	exported := func(kind, name string, spec map[string]any) any {
		return map[string]any{
			"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": kind, "spec": spec,
			"metadata": map[string]any{"name": name, "labels": map[string]any{parentLabel: toldPlacement}},
		}
	}
	older := &api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"of-another-policy"}}
	out := []any{
		exported("ClusterSchedulingPolicySnapshot", currentPolicy, map[string]any{"policy": c.Policy}),
		exported("ClusterSchedulingPolicySnapshot", previousPolicy, map[string]any{"policy": older}),
	}
	for i, b := range c.Existing {
		spec := map[string]any{"targetCluster": b.Cluster, "state": b.State, "schedulingPolicySnapshotName": currentPolicy}
		if b.PolicyRevision == "previous" {
			spec["schedulingPolicySnapshotName"] = previousPolicy
		}
		if b.Affinity != nil || b.Spread != nil {
			spec["clusterDecision"] = map[string]any{
				"clusterName": b.Cluster, "selected": true, "reason": b.Reason,
				"clusterScore": map[string]any{"affinityScore": b.Affinity, "priorityScore": b.Spread},
			}
		}
		out = append(out, exported("ClusterResourceBinding", fmt.Sprintf("%s-%d", toldPlacement, i), spec))
	}
	return out
}

// placementAnswer is what docs/json.md promises of flotilla plan about a placement.
type placementAnswer struct {
	Fulfilled bool `json:"fulfilled"`
	Picked    []struct {
		Member   string `json:"member"`
		Affinity *int32 `json:"affinityScore"`
		Spread   *int32 `json:"topologySpreadScore"`
	} `json:"picked"`
	Verdicts []struct {
		Member   string `json:"member"`
		Filter   string `json:"filter"`
		Reason   string `json:"reason"`
		Affinity *int32 `json:"affinityScore"`
		Spread   *int32 `json:"topologySpreadScore"`
	} `json:"verdicts"`
}

func (a *placementAnswer) placed() *placed {
	out := &placed{Fulfilled: a.Fulfilled, Picked: map[string]scores{}, Verdicts: map[string]placedVerdict{}}
	for _, p := range a.Picked {
		out.Picked[p.Member] = scores{p.Affinity, p.Spread}
	}
	for _, v := range a.Verdicts {
		out.Verdicts[v.Member] = placedVerdict{scores{v.Affinity, v.Spread}, v.Filter, v.Reason}
	}
	return out
}
