package show

import (
	"testing"

	"flotilla/core/api"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFieldSelectors(t *testing.T) {
	object := func(kind, name, state string) *unstructured.Unstructured {
		status := map[string]any{"state": state}
		if kind == api.KindUpdateRun {
			status = map[string]any{"status": status}
		}
		return &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": name}, "status": status}}
	}
	cordoned := object(api.KindMemberCluster, "oslo", "Ready")
	cordoned.Object["spec"] = map[string]any{"taints": []any{map[string]any{"key": api.TaintCordoned, "effect": "NoSchedule"}}}
	for selector, c := range map[string]struct {
		of   *unstructured.Unstructured
		want bool
	}{
		"":                                       {cordoned, true},
		"metadata.name=oslo,status.state==Ready": {cordoned, true},
		"metadata.name!=oslo":                    {cordoned, false},
		"status.state!=Ready":                    {cordoned, false},
		"status.state=Failed":                    {object(api.KindUpdateRun, "spring", "Failed"), true},
		"status.state=Running":                   {object(api.KindUpdateRun, "spring", "Failed"), false},
	} {
		chosen, err := chosenFields(selector, c.of.GetKind())
		require.NoError(t, err)
		require.Equal(t, c.want, chosen(c.of), selector)
	}
	for selector, want := range map[string]string{
		"status.sate=Ready": "did you mean status.state?", "status.state": "expected something like status.state!=Ready", "spec.x=1": "expected metadata.name, metadata.namespace, status.state",
	} {
		_, err := chosenFields(selector, api.KindMemberCluster)
		require.ErrorContains(t, err, want)
	}
	_, err := chosenFields("status.state=Ready", "ConfigMap")
	require.ErrorContains(t, err, "a ConfigMap has no state")
}
