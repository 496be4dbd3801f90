package apply

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// Readiness says whether a live object does what it is there for.
type Readiness string

// The readinesses, KubeFleet's words. NotTrackable counts as available, but in a rollout only after
// the strategy's unavailablePeriodSeconds.
const (
	Available    Readiness = "Available"
	NotYet       Readiness = "ManifestNotAvailableYet"
	NotTrackable Readiness = "NotTrackable"
)

// always lists the kinds that are available as soon as they exist.
var always = map[groupKind]bool{
	{"", "Namespace"}:                                   true,
	{"", "Secret"}:                                      true,
	{"", "ConfigMap"}:                                   true,
	{"", "ServiceAccount"}:                              true,
	{"", "LimitRange"}:                                  true,
	{"", "ResourceQuota"}:                               true,
	{"rbac.authorization.k8s.io", "Role"}:               true,
	{"rbac.authorization.k8s.io", "RoleBinding"}:        true,
	{"rbac.authorization.k8s.io", "ClusterRole"}:        true,
	{"rbac.authorization.k8s.io", "ClusterRoleBinding"}: true,
	{"networking.k8s.io", "NetworkPolicy"}:              true,
	{"networking.k8s.io", "IngressClass"}:               true,
	{"storage.k8s.io", "CSIDriver"}:                     true,
	{"storage.k8s.io", "CSINode"}:                       true,
	{"storage.k8s.io", "CSIStorageCapacity"}:            true,
	{"storage.k8s.io", "StorageClass"}:                  true,
	{"apps", "ControllerRevision"}:                      true,
	{"scheduling.k8s.io", "PriorityClass"}:              true,
}

var tracked = map[groupKind]func(view) (Readiness, string){
	{"apps", "Deployment"}:                               deployment,
	{"apps", "StatefulSet"}:                              statefulSet,
	{"apps", "DaemonSet"}:                                daemonSet,
	{"", "Service"}:                                      service,
	{"policy", "PodDisruptionBudget"}:                    disruptionBudget,
	{"apiextensions.k8s.io", "CustomResourceDefinition"}: definition,
}

// Ready judges a live object by the rules of its kind. The message says what is
// missing, "1 of 3 available".
func Ready(live *unstructured.Unstructured) (Readiness, string) {
	kind := groupKind{group(live.GetAPIVersion()), live.GetKind()}
	if judge, ok := tracked[kind]; ok {
		return judge(view{live.Object})
	}
	if always[kind] {
		return Available, ""
	}
	return byConvention(live)
}

// Completed says that a live object is done for good: a Job that has come to its end.
func Completed(live *unstructured.Unstructured) bool {
	return group(live.GetAPIVersion()) == "batch" && live.GetKind() == "Job" && view{live.Object}.condition("Complete") == "True"
}

// byConvention judges any other kind by its status, as far as it keeps to what controllers have in common:
// observedGeneration, and conditions such as Ready, Reconciling and Stalled. One that says nothing cannot be tracked.
func byConvention(live *unstructured.Unstructured) (Readiness, string) {
	untracked := fmt.Sprintf("availability of %s cannot be tracked", kindName(RefOf(live)))
	if !says(view{live.Object}) {
		return NotTrackable, untracked
	}
	result, err := status.Compute(live)
	if err != nil {
		return NotTrackable, untracked
	}
	switch result.Status {
	case status.CurrentStatus:
		return Available, ""
	case status.InProgressStatus, status.FailedStatus, status.TerminatingStatus:
		return NotYet, result.Message
	}
	return NotTrackable, untracked
}

// says is whether a status has anything that availability can be read from.
func says(v view) bool {
	if len(v.list("status", "conditions")) > 0 || v.number(0, "status", "observedGeneration") > 0 {
		return true
	}
	for _, field := range []string{"startTime", "phase"} { // of Jobs, and of claims for volumes
		if v.text("status", field) != "" {
			return true
		}
	}
	return false
}

func kindName(ref api.ObjectRef) string {
	if g := group(ref.APIVersion); g != "" {
		return ref.Kind + "." + g
	}
	return ref.Kind
}

// view reads fields of an object without copying it.
type view struct{ object map[string]any }

func (v view) number(fallback int64, fields ...string) int64 {
	n, ok, err := unstructured.NestedInt64(v.object, fields...)
	if !ok || err != nil {
		return fallback
	}
	return n
}

func (v view) text(fields ...string) string {
	s, _, _ := unstructured.NestedString(v.object, fields...)
	return s
}

func (v view) list(fields ...string) []any {
	found, ok, err := unstructured.NestedFieldNoCopy(v.object, fields...)
	if !ok || err != nil {
		return nil
	}
	items, _ := found.([]any)
	return items
}

func (v view) observed() bool {
	return v.number(0, "status", "observedGeneration") == v.number(0, "metadata", "generation")
}

func (v view) condition(kind string) string {
	for _, item := range v.list("status", "conditions") {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}

const notObserved = "its controller has not seen the newest spec yet"

func deployment(v view) (Readiness, string) {
	if !v.observed() {
		return NotYet, notObserved
	}
	want := v.number(1, "spec", "replicas")
	available := v.number(0, "status", "availableReplicas")
	updated := v.number(0, "status", "updatedReplicas")
	unavailable := v.number(0, "status", "unavailableReplicas")
	if available == want && updated == want && unavailable == 0 {
		return Available, ""
	}
	return NotYet, replicas(v, available, want, updated)
}

func statefulSet(v view) (Readiness, string) {
	if !v.observed() {
		return NotYet, notObserved
	}
	want := v.number(1, "spec", "replicas")
	available := v.number(0, "status", "availableReplicas")
	updated := v.number(0, "status", "updatedReplicas")
	if available == want && v.number(0, "status", "currentReplicas") == updated &&
		v.text("status", "currentRevision") == v.text("status", "updateRevision") {
		return Available, ""
	}
	return NotYet, replicas(v, available, want, updated)
}

func daemonSet(v view) (Readiness, string) {
	if !v.observed() {
		return NotYet, notObserved
	}
	want := v.number(0, "status", "desiredNumberScheduled")
	available := v.number(0, "status", "numberAvailable")
	updated := v.number(0, "status", "updatedNumberScheduled")
	if available == want && v.number(0, "status", "currentNumberScheduled") == updated {
		return Available, ""
	}
	return NotYet, replicas(v, available, want, updated)
}

// replicas says how far a workload is, and, where its controller says it, what keeps it.
func replicas(v view, available, want, updated int64) string {
	text := fmt.Sprintf("%d of %d available", available, want)
	if updated != want {
		text += fmt.Sprintf(", %d updated", updated)
	}
	said := ""
	for _, item := range v.list("status", "conditions") {
		c, ok := item.(map[string]any)
		message, _ := c["message"].(string)
		switch {
		case !ok || message == "":
		case c["type"] == "ReplicaFailure" && c["status"] == "True": // nothing of it can be made
			return text + ": " + withoutPodName(message)
		case c["status"] == "False" && said == "":
			said = ": " + message
		}
	}
	return text + said
}

func service(v view) (Readiness, string) {
	switch v.text("spec", "type") {
	case "ExternalName":
		return NotTrackable, "availability of a Service of type ExternalName cannot be tracked"
	case "LoadBalancer":
		for _, item := range v.list("status", "loadBalancer", "ingress") {
			entry, _ := item.(map[string]any)
			if entry["ip"] != nil || entry["hostname"] != nil {
				return Available, ""
			}
		}
		return NotYet, "no ingress IP or hostname yet"
	}
	ips := v.list("spec", "clusterIPs")
	if v.text("spec", "clusterIP") != "" || len(ips) > 0 && ips[0] != "" {
		return Available, ""
	}
	return NotYet, "no cluster IP yet"
}

func disruptionBudget(v view) (Readiness, string) {
	if v.observed() && v.condition("DisruptionAllowed") != "" {
		return Available, ""
	}
	return NotYet, "allowed disruptions are not computed yet"
}

func definition(v view) (Readiness, string) {
	if v.condition("Established") == "True" && v.condition("NamesAccepted") == "True" {
		return Available, ""
	}
	return NotYet, "the kind is not established yet"
}
