package rollup

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func deployment(w *writing) {
	want := w.replicas()
	ready := w.share(want, w.Available)
	w.put("updatedReplicas", w.share(want, w.Updated))
	w.put("readyReplicas", ready)
	w.put("availableReplicas", ready)
	if w.Members > 0 {
		w.put("unavailableReplicas", want-ready)
	}
	switch w.Outcome {
	case Current:
		w.condition("Available", answeredYes, "MinimumReplicasAvailable", w.Message)
		w.condition("Progressing", answeredYes, "NewReplicaSetAvailable", w.Message)
	case Failed:
		w.condition("Available", answeredNo, w.Reason, w.Message)
		w.condition("Progressing", answeredNo, reasonDeadline, w.Message)
	case InProgress:
		w.condition("Available", answeredNo, "MinimumReplicasUnavailable", w.Message)
		if w.guarded {
			w.condition("Progressing", "Unknown", w.Reason, w.Message)
			return
		}
		w.condition("Progressing", answeredYes, "ReplicaSetUpdated", w.Message)
	}
}

func statefulSet(w *writing) {
	want := w.replicas()
	ready, updated := w.share(want, w.Available), w.share(want, w.Updated)
	w.put("readyReplicas", ready)
	w.put("availableReplicas", ready)
	w.put("currentReplicas", updated)
	w.put("updatedReplicas", updated)
	w.status["updateRevision"] = revision(w.object)
	if w.Outcome == Current {
		w.status["currentRevision"] = revision(w.object)
	}
	w.ready("Available")
}

// daemonSet counts members in the place of nodes: how many nodes they have its result does not say.
func daemonSet(w *writing) {
	w.observed(w.Members > 0)
	for field, n := range map[string]int{
		"desiredNumberScheduled": w.Members, "currentNumberScheduled": w.Updated, "updatedNumberScheduled": w.Updated,
		"numberReady": w.Available, "numberAvailable": w.Available, "numberUnavailable": w.Members - w.Available, "numberMisscheduled": 0,
	} {
		w.status[field] = int64(n)
	}
}

func replicaSet(w *writing) {
	want := w.replicas()
	ready := w.share(want, w.Available)
	w.put("fullyLabeledReplicas", w.share(want, w.Updated))
	w.put("readyReplicas", ready)
	w.put("availableReplicas", ready)
}

// job is complete once it is on each member: that it runs there is no more than under way.
func job(w *writing) {
	completions, given := number(w.object.Body, "spec", "completions")
	if !given {
		if completions, given = number(w.object.Body, "spec", "parallelism"); !given {
			completions = 1
		}
	}
	w.put("succeeded", w.share(completions, w.Completed))
	switch {
	case w.Outcome == Failed:
		w.condition("Failed", answeredYes, w.Reason, w.Message)
	case w.Outcome == Current && w.Completed == w.Members:
		w.condition("Complete", answeredYes, "CompletionsReached", w.Message)
	case w.Updated > 0:
		w.put("active", int64(w.Updated-w.Completed))
	}
	if w.Updated > 0 {
		w.status["startTime"] = w.object.Spec.Created.UTC().Format(time.RFC3339)
	}
}

func pod(w *writing) {
	w.status["phase"] = "Pending"
	if w.Outcome == Current {
		w.status["phase"] = "Running"
	}
	w.ready("Ready")
}

func claim(w *writing) {
	w.status["phase"] = "Pending"
	if w.Outcome == Current {
		w.status["phase"] = "Bound"
	}
}

// namespace is there for what lies in it, whether it is placed or not.
func namespace(w *writing) {
	w.status["phase"] = "Active"
	if w.object.Spec.Deleted != nil {
		w.status["phase"] = "Terminating"
	}
}

// definition is established on the hub as soon as it is stored, and is so for its readers unless a member that is to have it
// has it not yet.
func definition(w *writing) {
	names, _, err := unstructured.NestedMap(w.object.Body, "spec", "names")
	if err == nil && names != nil {
		w.status["acceptedNames"] = names
	}
	versions, _, err := unstructured.NestedSlice(w.object.Body, "spec", "versions")
	stored := []any{}
	for _, item := range versions {
		if version, is := item.(map[string]any); err == nil && is && version["storage"] == true {
			stored = append(stored, version["name"])
		}
	}
	w.status["storedVersions"] = stored
	w.condition("NamesAccepted", answeredYes, "NoConflicts", "no conflicts found")
	switch {
	case w.Outcome == Current || !w.placed:
		w.condition("Established", answeredYes, "InitialNamesAccepted", "the hub takes its objects")
	case w.Outcome == Failed:
		w.condition("Established", answeredNo, w.Reason, w.Message)
	default:
		w.condition("Established", answeredNo, "Installing", w.Message)
	}
}

func apiService(w *writing) { w.ready("Available") }
