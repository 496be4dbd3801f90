package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The full comparison also counts what only the live object has, but for status, names, and labels and annotations of
// Kubernetes and of fleet managers.
func TestBeyond(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, live string
		want         []string
	}{
		"equal":           {"{kind: Any, spec: {a: 1}}", "{kind: Any, spec: {a: 1}}", nil},
		"another field":   {"{kind: Any, spec: {a: 1}}", "{kind: Any, spec: {a: 1, b: 2}, rules: [x]}", []string{"/rules", "/spec/b"}},
		"an empty field":  {"{kind: Any, spec: {a: 1}}", "{kind: Any, spec: {a: 1, b: {}, c: [], d: null}}", []string{"/spec/b", "/spec/c"}},
		"status and name": {"{kind: Any, metadata: {name: a}}", "{kind: Any, metadata: {name: a, uid: u}, status: {x: 1}}", nil},
		"a label":         {"{kind: Any, metadata: {labels: {a: b}}}", "{kind: Any, metadata: {labels: {a: b, c: d, kubernetes.io/x: y, flotilla.io/x: y}, annotations: {e: f}}}", []string{"/metadata/annotations/e", "/metadata/labels/c"}},
		"marks of others": {"{kind: Any, metadata: {labels: {app.kubernetes.io/name: a, kubernetes-fleet.io/b: c, x.k8s.io/d: e}}}", "{kind: Any}", nil},
		"a key of data":   {"{apiVersion: v1, kind: ConfigMap, data: {a: b}}", "{apiVersion: v1, kind: ConfigMap, data: {a: b, c: d}}", []string{"/data/c"}},
		"data of another": {"{apiVersion: v1, kind: ConfigMap, binaryData: {a: b}}", "{apiVersion: v1, kind: ConfigMap, binaryData: {a: b}, data: {c: d}}", []string{"/data/c"}},
	} {
		require.Equal(t, c.want, Beyond(object(t, c.wanted), object(t, c.live)), name)
	}
}

// A map, a list or data that was emptied on the member differs whole; one key that is left differs by key.
func TestWhatWasEmptiedDiffersWhole(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, live string
		want         []string
	}{
		"data":               {"{apiVersion: v1, kind: ConfigMap, data: {a: b, c: d}}", "{kind: ConfigMap, data: {}}", []string{"/data"}},
		"data of one key":    {"{apiVersion: v1, kind: ConfigMap, data: {a: b}}", "{kind: ConfigMap, data: {}}", []string{"/data"}},
		"no data":            {"{apiVersion: v1, kind: ConfigMap}", "{kind: ConfigMap, data: {}}", nil},
		"data but for a key": {"{apiVersion: v1, kind: ConfigMap, data: {a: b, c: d}}", "{kind: ConfigMap, data: {a: b}}", []string{"/data/c"}},
		"a map":              {"{kind: Any, spec: {m: {a: 1}}}", "{kind: Any, spec: {}}", []string{"/spec/m"}},
		"a list":             {"{kind: Any, spec: {l: [a]}}", "{kind: Any, spec: {}}", []string{"/spec/l"}},
		"an empty map":       {"{kind: Any, spec: {m: {}}}", "{kind: Any, spec: {}}", nil},
		"a map that is text": {"{kind: Any, spec: {m: {}}}", "{kind: Any, spec: {m: x}}", []string{"/spec/m"}},
	} {
		require.Equal(t, c.want, Drifts(object(t, c.wanted), object(t, c.live)), name)
	}
}

// Kinds that nothing works on are available as soon as they are there; of those that nobody knows it cannot be told.
func TestKindsThatAreAvailableAtOnce(t *testing.T) {
	for version, kinds := range map[string][]string{
		"v1":                           {"Namespace", "Secret", "ConfigMap", "ServiceAccount", "LimitRange", "ResourceQuota"},
		"rbac.authorization.k8s.io/v1": {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"},
		"networking.k8s.io/v1":         {"NetworkPolicy", "IngressClass"},
		"storage.k8s.io/v1":            {"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass"},
		"apps/v1":                      {"ControllerRevision"},
		"scheduling.k8s.io/v1":         {"PriorityClass"},
	} {
		for _, kind := range kinds {
			for of, want := range map[string]Readiness{version: Available, "example.com/v1": NotTrackable} {
				got, _ := Ready(object(t, "{apiVersion: "+of+", kind: "+kind+"}"))
				require.Equal(t, want, got, "%s %s", of, kind)
			}
		}
	}
}

// Only a Job that has come to its end is done for good.
func TestWhatIsDoneForGood(t *testing.T) {
	for live, want := range map[string]bool{
		"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}":       true,
		"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: 'False'}]}}":      false,
		"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: 'True'}]}}":         false,
		"{apiVersion: batch/v1, kind: CronJob, status: {conditions: [{type: Complete, status: 'True'}]}}":   false,
		"{apiVersion: example.com/v1, kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}": false,
	} {
		require.Equal(t, want, Completed(object(t, live)), live)
	}
}
