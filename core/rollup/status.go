package rollup

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/content"
)

// kind is one of an API group.
type kind struct{ group, name string }

// writers write what is special about the status of a kind.
var writers = map[kind]func(*writing){
	{"apps", "Deployment"}:        deployment,
	{"apps", "StatefulSet"}:       statefulSet,
	{"apps", "DaemonSet"}:         daemonSet,
	{"apps", "ReplicaSet"}:        replicaSet,
	{"", "ReplicationController"}: replicaSet,
	{"batch", "Job"}:              job,
	{"", "Pod"}:                   pod,
	{"", "PersistentVolumeClaim"}: claim,
	{"", "Namespace"}:             namespace,
	{"apiextensions.k8s.io", "CustomResourceDefinition"}: definition,
	{"apiregistration.k8s.io", "APIService"}:             apiService,
}

// plain are the kinds of Kubernetes beside those that have conditions in their status, though none that says how they do.
var plain = map[kind]bool{
	{"", "Service"}:                                               true,
	{"policy", "PodDisruptionBudget"}:                             true,
	{"autoscaling", "HorizontalPodAutoscaler"}:                    true,
	{"networking.k8s.io", "ServiceCIDR"}:                          true,
	{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"}: true,
}

// Status is the status of an object of its kind, nil for a kind that has none, and for what is made elsewhere.
func (j *Judgement) Status(o *Object) map[string]any {
	if o.Spec.Excluded != "" {
		return nil
	}
	w := writing{Judgement: j, object: o, status: map[string]any{}}
	k := kind{content.GroupOf(o.Spec.Object.APIVersion), o.Spec.Object.Kind}
	write, special := writers[k]
	switch _, known := api.KindNamespaced(k.group, k.name); {
	case special:
		write(&w)
	case plain[k]:
	case known:
		return nil
	default:
		w.ready("Ready")
	}
	if k.name != "Namespace" || j.placed {
		w.abnormal()
	}
	if len(w.conditions) > 0 {
		w.status["conditions"] = w.conditions
	}
	if len(w.status) == 0 {
		return nil
	}
	return w.status
}

// writing is one status on its way.
type writing struct {
	*Judgement
	object     *Object
	status     map[string]any
	conditions []any
}

// condition adds one.
func (w *writing) condition(name, status, reason, message string) {
	c := map[string]any{"type": name, "status": status, "reason": reason, "message": message}
	if !w.since.IsZero() {
		c["lastTransitionTime"] = w.since.UTC().Format(time.RFC3339)
	}
	w.conditions = append(w.conditions, c)
}

// ready adds a condition that is True once the object is available on all its members.
func (w *writing) ready(name string) {
	w.condition(name, truth(w.Outcome == Current), w.Reason, w.Message)
}

// abnormal adds the conditions by which kstatus tells of any kind that it is on its way, or does not get there.
func (w *writing) abnormal() {
	switch w.Outcome {
	case Current:
	case Failed:
		w.condition("Stalled", answeredYes, w.Reason, w.Message)
	case InProgress:
		w.condition("Reconciling", answeredYes, w.Reason, w.Message)
	}
}

func truth(yes bool) string {
	if yes {
		return answeredYes
	}
	return answeredNo
}

// observed notes the generation that the numbers beside it are of: not the newest while none of them can tell that the object
// is still on its way.
func (w *writing) observed(tell bool) {
	generation := w.object.Spec.Generation
	if !tell && w.Outcome == InProgress {
		generation--
	}
	if generation > 0 {
		w.status["observedGeneration"] = generation
	}
}

// share is what so many of the members have of a number.
func (w *writing) share(number int64, members int) int64 {
	if w.Members == 0 {
		return 0
	}
	return number * int64(members) / int64(w.Members)
}

// replicas are those of the spec, and what each of some fields has of them.
func (w *writing) replicas() int64 {
	want, given := number(w.object.Body, "spec", "replicas")
	if !given {
		want = 1
	}
	w.observed(w.Members > 0 && want > 0 || w.Updated == w.Members && w.placed)
	if w.Members > 0 {
		w.put("replicas", want)
	}
	return want
}

// put sets a number, which is left out at 0, as Kubernetes does.
func (w *writing) put(field string, n int64) {
	if n != 0 || field == "replicas" {
		w.status[field] = n
	}
}

// number is one of the body.
func number(body map[string]any, fields ...string) (n int64, given bool) {
	found, given, err := unstructured.NestedFieldNoCopy(body, fields...)
	if !given || err != nil {
		return 0, false
	}
	switch value := found.(type) {
	case int64:
		return value, true
	case float64:
		return int64(value), true
	}
	return 0, false
}

func revision(o *Object) string {
	return o.Spec.Object.Name + "-" + strconv.FormatInt(o.Spec.Generation, 10)
}
