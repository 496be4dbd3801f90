package memory

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/apply"
)

// waits reports kinds without pods that need a while to become ready.
func waits(object *unstructured.Unstructured) bool {
	switch object.GroupVersionKind().GroupKind().String() {
	case "Service", "CustomResourceDefinition.apiextensions.k8s.io", "PodDisruptionBudget.policy":
		return true
	}
	return false
}

// settled reports whether controllers had the time to look at an object.
func (m *Member) settled(s *stored) bool {
	return !m.faults.StuckAt(apply.RefOf(s.Object)) && !m.clock.Now().Before(s.Changed.Add(m.readyAfter))
}

// status is what the member's controllers would have written by now, nil for kinds without any.
func (m *Member) status(s *stored) map[string]any {
	settled := m.settled(s)
	switch s.kind() {
	case "Deployment.apps", "ReplicaSet.apps":
		return m.replicaStatus(s)
	case "StatefulSet.apps":
		status := m.replicaStatus(s)
		status["currentReplicas"] = status["updatedReplicas"]
		revision := fmt.Sprintf("%s-%d", s.Object.GetName(), s.Object.GetGeneration())
		status["currentRevision"], status["updateRevision"] = revision, revision
		return status
	case "DaemonSet.apps":
		return m.daemonStatus(s)
	case "Pod":
		return m.podStatus(s)
	case "Namespace":
		return map[string]any{"phase": "Active"}
	case "Service":
		return serviceStatus(s, settled)
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return map[string]any{"conditions": []any{
			condition("NamesAccepted", settled, "NoConflicts", ""), condition("Established", settled, "InitialNamesAccepted", ""),
		}}
	case "PodDisruptionBudget.policy":
		if !settled {
			return nil
		}
		return m.budgetStatus(s)
	}
	return nil
}

func (m *Member) replicaStatus(s *stored) map[string]any {
	ready, waitsFor := m.census(s)
	want := int64(len(s.Pods))
	status := map[string]any{
		"observedGeneration": s.Object.GetGeneration(),
		"replicas":           want,
		"updatedReplicas":    want,
		"conditions": []any{
			condition("Available", ready == want, "MinimumReplicasAvailable", waitsFor),
		},
	}
	if ready > 0 {
		status["readyReplicas"], status["availableReplicas"] = ready, ready
	}
	if ready < want {
		status["unavailableReplicas"] = want - ready
	}
	return status
}

func (m *Member) daemonStatus(s *stored) map[string]any {
	ready, waitsFor := m.census(s)
	want := int64(len(s.Pods))
	return map[string]any{
		"observedGeneration":     s.Object.GetGeneration(),
		"desiredNumberScheduled": want,
		"currentNumberScheduled": want,
		"updatedNumberScheduled": want,
		"numberReady":            ready,
		"numberAvailable":        ready,
		"numberUnavailable":      want - ready,
		"numberMisscheduled":     int64(0),
		"conditions":             []any{condition("Available", ready == want, "PodsAvailable", waitsFor)},
	}
}

func (m *Member) podStatus(s *stored) map[string]any {
	ready, waitsFor := m.census(s)
	phase := "Pending"
	if len(s.Pods) > 0 && s.Pods[0].on != nil {
		phase = "Running"
	}
	return map[string]any{"phase": phase, "conditions": []any{condition("Ready", ready == 1, "PodReady", waitsFor)}}
}

func condition(kind string, holds bool, reason, message string) map[string]any {
	out := map[string]any{"type": kind, "status": "True", "reason": reason}
	if !holds {
		out["status"], out["reason"] = "False", "NotReady"
		if message != "" {
			out["message"] = message
		}
	}
	return out
}

func serviceStatus(s *stored, settled bool) map[string]any {
	kind, _, _ := unstructured.NestedString(s.Object.Object, "spec", "type")
	if kind != "LoadBalancer" || !settled {
		return map[string]any{"loadBalancer": map[string]any{}}
	}
	return map[string]any{"loadBalancer": map[string]any{
		"ingress": []any{map[string]any{"ip": address(203, s.Number)}},
	}}
}

// assignAddress gives a service its cluster address, as an API server does when it is written.
func (m *Member) assignAddress(s *stored) {
	ref := apply.RefOf(s.Object)
	if ref.APIVersion != "v1" || ref.Kind != "Service" || m.faults.StuckAt(ref) {
		return
	}
	if kind, _, _ := unstructured.NestedString(s.Object.Object, "spec", "type"); kind == "ExternalName" {
		return
	}
	ip, _, _ := unstructured.NestedString(s.Object.Object, "spec", "clusterIP")
	if ip == "" {
		ip = address(10, s.Number)
	}
	setSpec(s.Object, "clusterIP", ip)
	setSpec(s.Object, "clusterIPs", []any{ip})
	m.keep.changed(s)
}

// keepAddress carries the cluster address of a service over to its new form.
func keepAddress(object, before *unstructured.Unstructured) {
	ip, ok, _ := unstructured.NestedString(before.Object, "spec", "clusterIP")
	if ref := apply.RefOf(object); !ok || ref.APIVersion != "v1" || ref.Kind != "Service" {
		return
	}
	if now, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); now == "" {
		setSpec(object, "clusterIP", ip)
		setSpec(object, "clusterIPs", []any{ip})
	}
}

func setSpec(object *unstructured.Unstructured, field string, value any) {
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		object.Object["spec"] = spec
	}
	spec[field] = value
}

func address(first byte, number int64) string {
	return fmt.Sprintf("%d.%d.%d.%d", first, number>>16&0xff, number>>8&0xff, number&0xff)
}
