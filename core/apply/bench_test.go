package apply

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkDiff compares 1,000 objects that are as they should be, half of them Deployments.
func BenchmarkDiff(b *testing.B) {
	t := &testing.T{}
	var wanted []Manifest
	var live []*unstructured.Unstructured
	for i := range 1000 {
		text := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop, labels: {app: web}}, data: {a: '1', b: '2', c: '3'}}", i)
		if i%2 == 0 {
			text = fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d%d, namespace: shop}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, "+
				"template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'registry.example/web:v1', resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}}}", i)
		}
		m := manifest(t, text)
		wanted, live = append(wanted, m), append(live, Stamped(&m, web))
	}
	for b.Loop() {
		if plan := Diff(Wanted{Owner: web, Manifests: wanted}, live); plan.Writes() > 0 {
			require.Empty(b, plan.String())
		}
	}
}
