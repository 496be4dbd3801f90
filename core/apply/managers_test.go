package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// A difference names who wrote what is there, as the managed fields of an API server have it.
func TestDifferencesNameManagers(t *testing.T) {
	live := object(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app.kubernetes.io/part-of: x, tier/a~b: y}
  managedFields:
  - {manager: flotilla, operation: Apply, time: "2026-11-23T10:00:09Z", fieldsV1: {"f:spec": {"f:replicas": {}, "f:paused": {}}}}
  - {manager: flotilla-create, operation: Update, time: "2026-11-23T10:00:09Z", fieldsV1: {"f:spec": {"f:paused": {}}}}
  - {manager: hpa, operation: Update, time: "2026-11-23T10:00:02Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: kubectl-edit, operation: Update, time: "2026-11-23T10:00:01Z", fieldsV1: {"f:spec": {"f:replicas": {}, "f:strategy": {},
      "f:template": {"f:spec": {"f:containers": {'k:{"name":"b"}': {".": {}, "f:image": {}}},
        "f:dnsPolicy": {}, "f:args": {'v:"two"': {}}, "f:list": {"i:1": {}}}},
      "f:ports": {'k:{"port":81,"protocol":"TCP"}': {}}}, "f:metadata": {"f:labels": {"f:tier/a~b": {}}}}}
spec:
  replicas: 3
  paused: true
  strategy: {type: Recreate}
  ports: [{port: 80, protocol: TCP}, {port: 81, protocol: TCP}]
  template: {spec: {containers: [{name: a, image: x}, {name: b, image: y}], args: [one, two], list: [p, q]}}
`)
	for path, manager := range map[string]string{
		"/spec/replicas":                           "hpa", // who was there last
		"/spec/paused":                             "",
		"/spec/strategy/type":                      "kubectl-edit", // which owns the whole
		"/spec/template/spec/containers/1/image":   "kubectl-edit",
		"/spec/template/spec/containers/0/image":   "",
		"/spec/template/spec/containers/7/image":   "",
		"/spec/template/spec/containers":           "kubectl-edit", // something beneath it
		"/spec/template/spec/args/1":               "kubectl-edit",
		"/spec/template/spec/args/0":               "",
		"/spec/template/spec/list/1":               "kubectl-edit",
		"/spec/template/spec/list/0":               "",
		"/spec/ports/1/port":                       "kubectl-edit",
		"/spec/ports/0/port":                       "",
		"/metadata/labels/tier~1a~0b":              "kubectl-edit",
		"/metadata/labels/app.kubernetes.io~1none": "",
	} {
		require.Equal(t, []api.Difference{{Path: path, Manager: manager}}, named([]string{path}, live), path)
	}
	require.Equal(t, "/spec/replicas (hpa), /spec/paused, /a and 1 more",
		paths([]api.Difference{{Path: "/spec/replicas", Manager: "hpa"}, {Path: "/spec/paused"}, {Path: "/a"}, {Path: "/b"}}))
}

func TestContested(t *testing.T) {
	details := func(managers ...string) *metav1.StatusDetails {
		d := &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec"}}}
		for i, manager := range managers {
			d.Causes = append(d.Causes, metav1.StatusCause{
				Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.f" + string(rune('0'+i)), Message: `conflict with "` + manager + `" using apps/v1 at 2026-11-23T10:00:00Z`,
			})
		}
		return d
	}
	require.Nil(t, Contested(nil))
	require.Nil(t, Contested(details()))
	found := Contested(details("kubectl-edit", "hpa"))
	require.Equal(t, []Contest{{".spec.f0", "kubectl-edit"}, {".spec.f1", "hpa"}}, found)
	require.Equal(t, "others own .spec.f0 (kubectl-edit), .spec.f1 (hpa); "+
		"leave them out of the manifest, or set applyStrategy.serverSideApplyConfig.force", ContestText(found))
	require.Contains(t, ContestText(Contested(details("a", "b", "c", "d", "e", "f", "g"))), ".spec.f4 (e) and 2 more fields;")
	require.Equal(t, "odd", managerIn("odd"))

	require.True(t, Uncontended(Contested(details("flotilla-create", "flotilla", "before-first-apply"))))
	require.False(t, Uncontended(Contested(details("flotilla", "hpa"))))
	require.False(t, Uncontended(nil))
}
