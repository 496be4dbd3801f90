package content_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"flotilla/core/content"
	"flotilla/core/seal"
)

// object reads one YAML document as the hub's decoder does: integers stay integers.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	var value map[string]any
	require.NoError(t, json.Unmarshal(body, &value))
	return value
}

func TestStripServerSetSaysWhatItLeftOut(t *testing.T) {
	given := object(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  uid: 1b2c
  resourceVersion: "7"
  creationTimestamp: null
  ownerReferences: [{kind: Deployment, name: web, uid: x, apiVersion: apps/v1}]
  annotations: {deployment.kubernetes.io/revision: "3"}
status: {phase: Active}
`)
	before := runtime.DeepCopyJSON(given)

	stripped, ignored := content.StripServerSet(given)

	require.Equal(t, []string{"metadata.resourceVersion", "metadata.uid", "status"}, ignored, "a null is nothing a user said")
	require.Equal(t, object(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  ownerReferences: [{kind: Deployment, name: web, uid: x, apiVersion: apps/v1}]
  annotations: {deployment.kubernetes.io/revision: "3"}
`), stripped)
	require.Equal(t, before, given, "the input stays as it was")
}

func TestStripLeavesNothingOfTheOldPlace(t *testing.T) {
	cases := map[string]struct{ given, want string }{
		"metadata a server sets, status, owners": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n, uid: u, generation: 4, selfLink: /x,
			  resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", deletionTimestamp: "2026-01-01T00:00:00Z",
			  deletionGracePeriodSeconds: 30, managedFields: [{manager: m}], ownerReferences: [{name: o}]}, status: {}, data: {k: v}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}, data: {k: v}}`,
		},
		"annotations of kubectl and of deployments, and the map when it becomes empty": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {
			  kubectl.kubernetes.io/last-applied-configuration: "{}", deployment.kubernetes.io/revision: "2"}}}`,
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}`,
		},
		"labels and annotations that hold nothing": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {}, annotations: {}}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		},
		"other annotations stay": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "2", mine: "1"}}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {mine: "1"}}}`,
		},
		"a service's addresses and node ports": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1],
			  healthCheckNodePort: 30001, ports: [{port: 80, nodePort: 30080}, {port: 81}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}, {port: 81}]}}`,
		},
		"a headless service stays headless": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
		},
		"a service of another group is not a Service": {
			`{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1}}`,
			`{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1}}`,
		},
		"the selector a job controller made": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {controller-uid: u, app: x}}, spec: {
			  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}},
			  template: {metadata: {labels: {batch.kubernetes.io/controller-uid: u, job-name: a, app: x}}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {app: x}}, spec: {
			  template: {metadata: {labels: {app: x}}}}}`,
		},
		"a job that selects for itself": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {manualSelector: true,
			  selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {controller-uid: u}}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {manualSelector: true,
			  selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {controller-uid: u}}}}}`,
		},
		"a document without spec or metadata maps": {
			`{apiVersion: v1, kind: Service}`,
			`{apiVersion: v1, kind: Service}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			given := object(t, c.given)
			before := runtime.DeepCopyJSON(given)
			require.Equal(t, object(t, c.want), content.Strip(given))
			require.Equal(t, before, given, "the input stays as it was")
		})
	}
}

// keys are the secrets of these tests.
var keys = &seal.Keyring{Digests: []byte("digests"), Content: [][]byte{[]byte("content")}}

func TestNewGivesEqualDocumentsEqualDigests(t *testing.T) {
	one, err := content.New(object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: z}}, data: {b: "1", a: "<&>"}}`), keys)
	require.NoError(t, err)
	two, err := content.New(object(t, `{kind: ConfigMap, data: {a: "<&>", b: "1"}, metadata: {uid: z, labels: {x: z}, name: a}, apiVersion: v1}`), keys)
	require.NoError(t, err)

	require.Equal(t, one.Head, two.Head)
	require.Equal(t, two.Body, one.Body, "keys are sorted")
	require.Contains(t, string(one.Body), `"a":"<&>"`, "and nothing is escaped for HTML")
	require.Equal(t, keys.Digest(one.Body), one.Head.Digest)
	require.Len(t, one.Head.Digest, 64)
	require.Empty(t, one.Head.Manifest, "nothing more to strip: one body serves both")
	require.Equal(t, one.Head.Digest, one.Head.ManifestDigest())
	require.Equal(t, map[string]string{"x": "z"}, one.Head.Labels)
	require.Equal(t, len(one.Body), one.Head.Size)
	require.Equal(t, []string{"metadata.uid"}, two.Ignored)
}

func TestNewKeepsBothBodiesWhenTheyDiffer(t *testing.T) {
	given := object(t, `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: n}, spec: {clusterIP: 10.0.0.1, ports: [{port: 80}]}}`)
	made, err := content.New(given, keys)
	require.NoError(t, err)
	require.Contains(t, string(made.Body), "10.0.0.1", "what the user reads back")
	require.NotContains(t, string(made.Manifest), "10.0.0.1", "what members get")
	require.Equal(t, keys.Digest(made.Manifest), made.Head.ManifestDigest())
}

func TestBareTellsMetadataFromTheRest(t *testing.T) {
	bare := func(text string) string {
		made, err := content.New(object(t, text), keys)
		require.NoError(t, err)
		return made.Head.Bare
	}
	first := bare(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}`)
	require.Equal(t, first, bare(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {l: "1"}}, data: {k: v}}`))
	require.NotEqual(t, first, bare(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: w}}`))
}

func TestNewKeepsLargeIntegers(t *testing.T) {
	made, err := content.New(object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, limit: 9007199254740993}`), keys)
	require.NoError(t, err)
	require.Contains(t, string(made.Body), "9007199254740993")
}
