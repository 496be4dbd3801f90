package content

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"flotilla/core/api"
)

// serverSet are the metadata fields that only a Kubernetes API server writes.
var serverSet = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid",
}

// droppedAnnotations say where an object came from, not what it is to be.
var droppedAnnotations = []string{
	lastApplied,
	"deployment.kubernetes.io/revision",
}

// controllerLabels are written by the job controller into jobs that do not select for themselves.
var controllerLabels = []string{
	"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name",
}

// StripServerSet returns a copy of object without status, the metadata that a server sets and empty
// labels and annotations, and the paths that were left out, sorted. It is what the hub stores of a
// document.
func StripServerSet(object map[string]any) (stripped map[string]any, ignored []string) {
	stripped = runtime.DeepCopyJSON(object)
	if _, found := stripped["status"]; found {
		delete(stripped, "status")
		ignored = append(ignored, "status")
	}
	metadata, _ := stripped["metadata"].(map[string]any)
	for _, field := range serverSet {
		if value, found := metadata[field]; found {
			delete(metadata, field)
			if value != nil {
				ignored = append(ignored, "metadata."+field)
			}
		}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, shown := range []string{api.AnnotationSet, api.AnnotationOnMembers} {
		if annotations[shown] != nil {
			delete(annotations, shown)
			ignored = append(ignored, "metadata.annotations["+shown+"]")
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if held, isMap := metadata[field].(map[string]any); isMap && len(held) == 0 {
			delete(metadata, field)
		}
	}
	slices.Sort(ignored)
	return stripped, ignored
}

// Strip returns a copy of object as snapshots hold it: without what the server set, without owners, and
// without what a cluster allocated for the object.
func Strip(object map[string]any) map[string]any {
	stripped, _ := StripServerSet(object)
	metadata, _ := stripped["metadata"].(map[string]any)
	delete(metadata, "ownerReferences")
	dropKeys(metadata, "annotations", droppedAnnotations)
	spec, _ := stripped["spec"].(map[string]any)
	switch groupKindOf(stripped) {
	case groupKind{"", "Service"}:
		stripService(spec)
	case groupKind{"batch", "Job"}:
		stripJob(metadata, spec)
	}
	return stripped
}

func stripService(spec map[string]any) {
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	delete(spec, "healthCheckNodePort")
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if fields, ok := port.(map[string]any); ok {
			delete(fields, "nodePort")
		}
	}
}

func stripJob(metadata, spec map[string]any) {
	if spec["manualSelector"] == true {
		return
	}
	if selector, ok := spec["selector"].(map[string]any); ok {
		dropKeys(selector, "matchLabels", controllerLabels)
		if len(selector) == 0 {
			delete(spec, "selector")
		}
	}
	dropKeys(metadata, "labels", controllerLabels)
	template, _ := spec["template"].(map[string]any)
	templateMetadata, _ := template["metadata"].(map[string]any)
	dropKeys(templateMetadata, "labels", controllerLabels)
}

// dropKeys removes keys from the map at parent[field], and the map itself once it is empty.
func dropKeys(parent map[string]any, field string, keys []string) {
	held, ok := parent[field].(map[string]any)
	if !ok {
		return
	}
	dropped := false
	for _, key := range keys {
		if _, found := held[key]; found {
			delete(held, key)
			dropped = true
		}
	}
	if dropped && len(held) == 0 {
		delete(parent, field)
	}
}

// groupKind is a Kubernetes kind without its version: objects of two versions of one kind are the same
// object.
type groupKind struct{ group, kind string }

func groupKindOf(object map[string]any) groupKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return groupKind{group: GroupOf(apiVersion), kind: kind}
}

// GroupOf returns the group of an apiVersion, "" for the core group.
func GroupOf(apiVersion string) string {
	group, _ := api.SplitAPIVersion(apiVersion)
	return group
}
