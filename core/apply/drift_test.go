package apply

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDrifts(t *testing.T) {
	const wanted = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
  labels: {app: d, app.kubernetes.io/name: d}
  annotations: {note: hello, flotilla.io/digest: x}
spec:
  replicas: 3
  paused: false
  strategy: {}
  template:
    spec:
      containers:
      - {name: a, image: "nginx:1", resources: {requests: {cpu: 1000m, memory: 1Gi}}}
`
	for name, c := range map[string]struct {
		live string
		want []string
	}{
		"defaults of the member and rewritten quantities are no drift": {live: `
metadata:
  labels: {app: d, extra: x}
  annotations: {note: hello, other: x}
spec:
  replicas: 3
  revisionHistoryLimit: 10
  template:
    spec:
      restartPolicy: Always
      containers:
      - {name: a, image: "nginx:1", imagePullPolicy: Always, resources: {requests: {cpu: "1", memory: 1024Mi}}}
status: {replicas: 3}
`},
		"changed, missing and added": {live: `
metadata:
  labels: {app: e}
spec:
  replicas: 5
  template:
    spec:
      containers:
      - {name: a, image: "nginx:2", resources: {requests: {cpu: "2"}}}
`, want: []string{
			"/metadata/annotations/note", "/metadata/labels/app", "/spec/replicas", "/spec/template/spec/containers/0/image",
			"/spec/template/spec/containers/0/resources/requests/cpu", "/spec/template/spec/containers/0/resources/requests/memory",
		}},
		"a list of another length": {live: `
metadata: {labels: {app: d}, annotations: {note: hello}}
spec: {replicas: 3, template: {spec: {containers: []}}}
`, want: []string{"/spec/template/spec/containers"}},
		"another type": {live: `
metadata: {labels: {app: d}, annotations: {note: hello}}
spec: {replicas: three, template: x}
`, want: []string{"/spec/replicas", "/spec/template"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Drifts(object(t, wanted), object(t, "apiVersion: apps/v1\nkind: Deployment\n"+c.live)))
		})
	}
}

func TestDriftsAreBoundedAndEscaped(t *testing.T) {
	wanted := object(t, "{apiVersion: v1, kind: ConfigMap}")
	values := map[string]any{"a/b~c": "x"}
	for i := range 200 {
		values["k"+strconv.Itoa(i)] = "x"
	}
	wanted.Object["data"] = values
	found := Drifts(wanted, object(t, "{apiVersion: v1, kind: ConfigMap}"))
	require.Equal(t, []string{"/data"}, found)
	found = Drifts(wanted, object(t, "{apiVersion: v1, kind: ConfigMap, data: {x: y}}"))
	require.Len(t, found, maxDrifts)
	require.Equal(t, "/data/a~1b~0c", found[0])
}

// The data of ConfigMaps and Secrets belongs to users: "1.0" is not "1" there, and empty is not absent.
func TestDriftsInDataAreToTheLetter(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, live string
		want         []string
	}{
		"equal": {
			"{apiVersion: v1, kind: ConfigMap, data: {v: '1.0', e: ''}}", "{data: {v: '1.0', e: '', more: x}}", nil,
		},
		"alike as quantities": {
			"{apiVersion: v1, kind: ConfigMap, data: {v: '1.0', k: 1k}}", "{data: {v: '1', k: '1000'}}", []string{"/data/k", "/data/v"},
		},
		"empty and absent": {
			"{apiVersion: v1, kind: ConfigMap, data: {e: '', v: x}}", "{data: {v: x}}", []string{"/data/e"},
		},
		"stringData as it is stored": {
			"{apiVersion: v1, kind: Secret, data: {p: b2xk}, stringData: {p: right}}", "{data: {p: cmlnaHQ=}}", nil,
		},
		"stringData that differs": {
			"{apiVersion: v1, kind: Secret, stringData: {p: right}}", "{data: {p: d3Jvbmc=}}", []string{"/data/p"},
		},
		"lists where text belongs": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: [x]}}, data: {same: [a, {b: c}], v: [a], t: x}}",
			"{metadata: {labels: {a: [y]}}, data: {same: [a, {b: c}], v: [b], t: [x]}}",
			[]string{"/data/t", "/data/v", "/metadata/labels/a"},
		},
		"data of another kind": {
			"{apiVersion: example.com/v1, kind: ConfigMap, data: {v: '1.0'}}", "{data: {v: '1'}}", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Drifts(object(t, c.wanted), object(t, "{kind: Any, "+c.live[1:])))
		})
	}
}
