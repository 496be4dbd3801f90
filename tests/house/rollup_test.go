package house

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target/memory/faults"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// shopFront is a Deployment of a namespace of its name, of an image.
func shopFront(image string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: %q, resources: {requests: {cpu: 100m, memory: 64Mi}}}]}
`, image)
}

// fares waits until kstatus makes that of the Deployment web, and its annotation says so.
func (h *house) fares(t *testing.T, want status.Status, counts string) *unstructured.Unstructured {
	t.Helper()
	shown := &unstructured.Unstructured{}
	bustest.EventuallyIn(t, patience, func() error {
		var raw json.RawMessage
		if err := h.request(t, api.VerbGet, api.GetRequest{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, &raw); err != nil {
			return err
		}
		if err := shown.UnmarshalJSON(raw); err != nil {
			return err
		}
		result, err := status.Compute(shown)
		if err != nil {
			return err
		}
		if found := shown.GetAnnotations()[api.AnnotationOnMembers]; result.Status != want || found != counts {
			return fmt.Errorf("found %s, %s: %s, expected %s, %s", result.Status, found, result.Message, want, counts)
		}
		return nil
	})
	return shown
}

// A Deployment is in progress until something places it, current once all members have it, and failed where one refuses it, which
// is named; a freeze and a member that heals are told as they come.
func TestADeploymentFaresAsItsMembersSay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "berlin", "oslo")
	h.apply(t, shopFront("shop:1"))
	h.fares(t, status.InProgressStatus, "not placed")
	h.apply(t, placed("shop", "shop"))
	shown := h.fares(t, status.CurrentStatus, "2 of 2 available")
	replicas, _, _ := unstructured.NestedInt64(shown.Object, "status", "availableReplicas")
	require.EqualValues(t, 2, replicas)

	h.members["oslo"].SetFaults(faults.Faults{Fail: []string{"Deployment"}})
	h.apply(t, shopFront("shop:2"))
	h.fares(t, status.FailedStatus, "1 of 2 available, 1 failed")
	out, code := h.flotilla(t, "describe", "deployment/web", "-n", "shop")
	require.Zero(t, code, out)
	require.Regexp(t, `Message: +available on 1 of 2 members; oslo: ManifestApplyFailed: `, out)
	require.Regexp(t, `Type: +Stalled`, out)
	h.members["oslo"].SetFaults(faults.Faults{})
	h.fares(t, status.CurrentStatus, "2 of 2 available")

	out, code = h.flotilla(t, "freeze", "placements", "--reason", "the shop has its sale")
	require.Zero(t, code, out)
	h.fares(t, status.CurrentStatus, "2 of 2 available")
	h.apply(t, shopFront("shop:3"))
	shown = h.fares(t, status.InProgressStatus, "0 of 2 available")
	require.Contains(t, fmt.Sprint(shown.Object["status"]), "Frozen")
	out, code = h.flotilla(t, "unfreeze", "placements")
	require.Zero(t, code, out)
	h.fares(t, status.CurrentStatus, "2 of 2 available")
	out, code = h.flotilla(t, "get", "deployment/web", "-n", "shop", "-o", "wide")
	require.Zero(t, code, out)
	require.Contains(t, out, "2 of 2 available")
}
