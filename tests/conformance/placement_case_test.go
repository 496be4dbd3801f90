package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

// placementCase is one recorded decision of KubeFleet's scheduler.
type placementCase struct {
	ID       string            `json:"id"`
	Group    string            `json:"group"` // family of the case
	Note     string            `json:"note"`
	Clusters []recordedCluster `json:"clusters"`
	Policy   *api.Policy       `json:"policy"`
	Existing []recordedBinding `json:"existingBindings"`
	Expected recordedPlacement `json:"expected"`
}

type recordedCluster struct {
	Name       string            `json:"name"`
	Labels     map[string]string `json:"labels"`
	Taints     []api.Taint       `json:"taints"`
	Usage      api.ResourceUsage `json:"resourceUsage"`
	Properties map[string]string `json:"properties"`
	NoAgent    bool              `json:"noAgentStatus"`
	Heartbeat  float64           `json:"heartbeatAgeSeconds"`
	Joined     string            `json:"joined"`
	Healthy    string            `json:"healthy"`
	HealthAge  float64           `json:"healthTransitionAgeSeconds"`
	Leaving    bool              `json:"leaving"`
}

// recordedBinding is a name, meaning bound under the current policy, or the whole binding.
type recordedBinding struct {
	Cluster        string           `json:"cluster"`
	State          api.BindingState `json:"state"`
	PreviousState  api.BindingState `json:"previousState"` // before it became Unscheduled
	PolicyRevision string           `json:"policyRevision"`
	Affinity       *int32           `json:"affinityScore"`
	Spread         *int32           `json:"topologySpreadScore"`
	Reason         string           `json:"reason"` // of the pick, in KubeFleet's words
}

func (b *recordedBinding) UnmarshalJSON(text []byte) error {
	*b = recordedBinding{State: api.BindingBound, PolicyRevision: "current"}
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &b.Cluster)
	}
	type plain recordedBinding
	return strictly(text, (*plain)(b))
}

type recordedPlacement struct {
	Selected    []recordedDecision `json:"selected"`
	NotSelected []recordedDecision `json:"notSelected"`
	Fulfilled   bool               `json:"fulfilled"`
	Error       bool               `json:"error"`
	// What is KubeFleet's own: the cycles that it took, what it wrote after them, and its condition.
	Cycles        int               `json:"cycles"`
	PicksPerCycle [][]string        `json:"picksPerCycle"`
	Bindings      []recordedBinding `json:"bindings"`
	Condition     string            `json:"condition"`
}

type recordedDecision struct {
	Cluster  string `json:"cluster"`
	Affinity *int32 `json:"affinityScore"`
	Spread   *int32 `json:"topologySpreadScore"`
	Reason   string `json:"reason"`
}

// recordingTime is when every case plays.
var recordingTime = time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)

func (c *recordedCluster) member() api.Member {
	m := api.Member{
		Name: c.Name, Labels: c.Labels, Taints: c.Taints, HasAgent: !c.NoAgent, Leaving: c.Leaving,
		Joined: c.Joined, Healthy: c.Healthy,
		LastHeartbeat: ago(c.Heartbeat), HealthChanged: ago(c.HealthAge),
		Properties: map[string]string{},
	}
	maps.Copy(m.Properties, c.Properties)
	for capacity, quantities := range map[string]map[string]string{
		"total": c.Usage.Capacity, "allocatable": c.Usage.Allocatable, "available": c.Usage.Available,
	} {
		for resource, value := range quantities {
			m.Properties[api.PropertyResourcePrefix+capacity+"-"+resource] = value
		}
	}
	return m
}

func ago(seconds float64) time.Time {
	return recordingTime.Add(-time.Duration(seconds * float64(time.Second)))
}

// input is the case as the core takes it.
func (c *placementCase) input() schedule.Input {
	members := make([]api.Member, len(c.Clusters))
	for i := range c.Clusters {
		members[i] = c.Clusters[i].member()
	}
	in := schedule.Input{
		Placement: "case-" + c.ID, Policy: c.Policy, PolicyDigest: schedule.PolicyDigest(c.Policy),
		Fleet: schedule.NewFleet(members...), Now: recordingTime,
	}
	for _, b := range c.Existing {
		e := schedule.Existing{Member: b.Cluster, State: b.State, AffinityScore: b.Affinity, SpreadScore: b.Spread}
		e.Policy = in.PolicyDigest
		if b.PolicyRevision == "previous" {
			e.Policy = "previous"
		}
		in.Existing = append(in.Existing, e)
	}
	return in
}

// show renders a score, absent ones as a dash.
func show(score *int32) string {
	if score == nil {
		return "-"
	}
	return fmt.Sprint(*score)
}
