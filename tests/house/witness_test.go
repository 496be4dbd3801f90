package house

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target/memory"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// requireCleanHistory holds a member's own record of what was done to it against the promises: commands
// never go back, and nothing is written that was there already.
func requireCleanHistory(t *testing.T, member *memory.Member) {
	t.Helper()
	orders := map[string]api.Order{}
	generations := map[string]int64{}
	written := map[string]string{}
	for _, op := range member.History(0) {
		owner, object := op.Origin.Owner, op.ObjectRef.String()
		require.GreaterOrEqual(t, op.Origin.Order.Compare(orders[owner]), 0, "%s: %s follows order %+v", member, op, orders[owner])
		require.GreaterOrEqual(t, op.Origin.Generation, generations[owner], "%s: %s", member, op)
		orders[owner], generations[owner] = op.Origin.Order, op.Origin.Generation
		switch op.Verb {
		case apply.Create, apply.Replace:
			require.NotEqual(t, op.Digest, written[object], "%s: %s writes what is there", member, op)
			written[object] = op.Digest
		case apply.Delete, apply.Disown:
			delete(written, object)
		}
	}
}

// live is a live object of a member, nil when there is none.
func live(member *memory.Member, kind, name string) *unstructured.Unstructured {
	for _, object := range member.Objects() {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	return nil
}

// holds wants a ConfigMap with a value on a member.
func holds(member *memory.Member, name, value string) error {
	object := live(member, "ConfigMap", name)
	if object == nil {
		return fmt.Errorf("%s has no ConfigMap %s", member, name)
	}
	if got, _, _ := unstructured.NestedString(object.Object, "data", "value"); got != value {
		return fmt.Errorf("ConfigMap %s of %s holds %q, expected %q", name, member, got, value)
	}
	return nil
}

// content is a namespace with a ConfigMap of one value.
func content(name, value string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s, namespace: %[1]s}
data: {value: %[2]q}
`, name, value)
}

// pickAll places a namespace everywhere, one member at a time.
func pickAll(name string) string {
	return fmt.Sprintf(`
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: %[1]s}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: %[1]s}]
  policy: {placementType: PickAll}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 1, maxSurge: 8, unavailablePeriodSeconds: 0}
`, name)
}
