package show

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// renderMember shows a member with what the hub learned of it.
func (v *View) renderMember(spec *api.Spec, revision uint64, placed int) (json.RawMessage, error) {
	var shown any
	if record, _, seen := v.records.Seen.Get(spec.Object.Name); seen {
		status := v.memberStatus(&record)
		status.Placed = placed
		if v.records.IsDrained(spec, revision) {
			status.Drain = v.drainOf(spec.Object.Name)
		}
		shown = status
	}
	return v.complete(spec, revision, spec.Body, shown)
}

// renderUnadmitted shows a member that heartbeats and that nobody admitted.
func (v *View) renderUnadmitted(record *api.MemberRecord, revision uint64, managed bool) (json.RawMessage, error) {
	ref := unadmitted(record)
	member := api.MemberCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: ref.APIVersion, Kind: ref.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: ref.Name},
	}
	if managed {
		member.ResourceVersion, member.Status = v.version(revision), recordedStatus(record, record.LastSeen)
	} else {
		member.Status = v.memberStatus(record)
	}
	rendered, err := json.Marshal(member)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", ref, err)
	}
	return rendered, nil
}

// memberStatus is a MemberRecord in the shape of KubeFleet's MemberCluster, with what is known of the member beside it.
func (v *View) memberStatus(record *api.MemberRecord) *api.MemberClusterStatus {
	status := recordedStatus(record, v.lastSeen(record))
	status.Inventory = v.Inventory(record.Name)
	v.addCredentials(status, record)
	return status
}

// recordedStatus is what the record of a member says of it.
func recordedStatus(record *api.MemberRecord, seen metav1.Time) *api.MemberClusterStatus {
	status := &api.MemberClusterStatus{
		State: record.State, Message: record.Message, Labels: record.Labels, OfferedLabels: record.OfferedLabels,
		AgentVersion: record.AgentVersion, KubernetesVersion: record.KubernetesVersion, Nodes: record.Nodes,
		Unlisted: record.Unlisted, Forbidden: record.Forbidden, Properties: map[string]api.PropertyValue{},
	}
	addProperties(status, record.Properties, seen)
	joined := metav1.Condition{
		Type: api.ConditionJoined, Status: metav1.ConditionTrue, Reason: "MemberClusterJoined", LastTransitionTime: record.Since,
	}
	if record.UID == "" {
		joined.Status, joined.Reason = metav1.ConditionFalse, "NotAdmitted"
		joined.Message = "it heartbeats, but nobody admitted it: flotilla member admit " + record.Name
	}
	status.Conditions = []metav1.Condition{joined, readyCondition(record)}
	if !seen.IsZero() {
		status.AgentStatus = []api.AgentStatus{{
			Type: api.AgentTypeMember, LastReceivedHeartbeat: seen,
			Conditions: []metav1.Condition{joined, healthyCondition(record)},
		}}
	}
	if record.Namespaces != nil {
		addNamespaces(status, record)
	}
	return status
}

// lastSeen is when the member was last heard of: from its heartbeat where the hub has it, because the
// record is coarse.
func (v *View) lastSeen(record *api.MemberRecord) metav1.Time {
	entry, found := v.store.Heartbeats.Get(record.Name)
	if !found {
		return record.LastSeen
	}
	now := v.store.Now()
	return metav1.NewTime(now.Add(-v.store.Heartbeats.Age(entry, now)).UTC())
}

func readyCondition(record *api.MemberRecord) metav1.Condition {
	ready := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: record.Reason, Message: record.Message, LastTransitionTime: record.Since,
	}
	switch record.State {
	case api.MemberReady:
		ready.Status = metav1.ConditionTrue
	case api.MemberUnknown:
		ready.Status = metav1.ConditionUnknown
	}
	if ready.Reason == "" {
		ready.Reason = string(record.State)
	}
	return ready
}

func healthyCondition(record *api.MemberRecord) metav1.Condition {
	healthy := metav1.Condition{
		Type: api.ConditionHealthy, Status: metav1.ConditionStatus(record.Healthy), Reason: "AgentReport",
		Message: record.Message, LastTransitionTime: record.HealthySince,
	}
	if record.Healthy == "" {
		healthy.Status, healthy.Reason = metav1.ConditionUnknown, "NoAgentReport"
	}
	return healthy
}

func addProperties(status *api.MemberClusterStatus, properties map[string]string, seen metav1.Time) {
	usage := &api.ResourceUsage{
		Capacity: map[string]string{}, Allocatable: map[string]string{}, Available: map[string]string{}, ObservationTime: seen,
	}
	capacities := map[string]map[string]string{
		"total": usage.Capacity, "allocatable": usage.Allocatable, "available": usage.Available,
	}
	for name, value := range properties {
		rest, isResource := strings.CutPrefix(name, api.PropertyResourcePrefix)
		capacity, resource, _ := strings.Cut(rest, "-")
		if held, known := capacities[capacity]; isResource && known {
			held[resource] = value
			status.ResourceUsage = usage
			continue
		}
		status.Properties[name] = api.PropertyValue{Value: value, ObservationTime: seen}
	}
}

func addNamespaces(status *api.MemberClusterStatus, record *api.MemberRecord) {
	status.Namespaces = make(map[string]string, len(record.Namespaces))
	for _, namespace := range record.Namespaces {
		status.Namespaces[namespace] = ""
	}
	status.Conditions = append(status.Conditions, metav1.Condition{
		Type: api.ConditionNamespacesCollected, Status: metav1.ConditionTrue, Reason: "Collected", LastTransitionTime: record.Since,
	})
}
