package door_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

const shopFront = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 4}}`

// hear plays the agent of a member that reports on placement web.
func (h *house) hear(r api.PlacementResult) {
	h.t.Helper()
	if r.Changed.IsZero() {
		r.Changed = metav1.NewTime(elsewhen.Now())
	}
	r.Header, r.Placement, r.Generation, r.Total = api.NewHeader(api.KindPlacementResult), "web", 1, 2
	require.NoError(h.t, h.server.Agent(h.t, r.Member).PutResult(bustest.Context(h.t), subjects.CommandPlacement, "web", r))
}

// fares is what kstatus makes of the Deployment web, and how it does on how many members.
func (h *house) fares() (was, counts string, shown *unstructured.Unstructured) {
	h.t.Helper()
	return faring(h.t, h.get("Deployment", "shop", "web"))
}

func faring(t *testing.T, tree map[string]any) (was, counts string, shown *unstructured.Unstructured) {
	t.Helper()
	shown = &unstructured.Unstructured{Object: tree}
	text, err := shown.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, shown.UnmarshalJSON(text)) // so that numbers are whole
	result, err := status.Compute(shown)
	require.NoError(t, err)
	return result.Status.String(), shown.GetAnnotations()[api.AnnotationOnMembers], shown
}

// fare waits until it does so.
func (h *house) fare(want, counts string) *unstructured.Unstructured {
	h.t.Helper()
	var shown *unstructured.Unstructured
	bustest.Eventually(h.t, func() error {
		var is, on string
		if is, on, shown = h.fares(); is != want || on != counts {
			return fmt.Errorf("found %s, %s, expected %s, %s: %v", is, on, want, counts, shown.Object["status"])
		}
		return nil
	})
	return shown
}

// Content that is placed has the status that its members give it, alone and in a list, and whoever watches its kind is told when
// that changes.
func TestContentFaresAsItsMembersSay(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, shopFront, web)[2].UID
	h.fare("InProgress", "0 of 0 available")
	write(h, subjects.Schedules, "web", api.Schedule{Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: uid, Generation: 1, Fulfilled: true, Bindings: []api.Binding{
		{Member: "berlin"}, {Member: "oslo"},
	}})
	h.fare("InProgress", "0 of 2 available")
	h.release("web", uid, 1, "berlin", "oslo")
	for _, name := range []string{"berlin", "oslo"} {
		h.hear(api.PlacementResult{Member: name, UID: uid, Applied: "True", Available: "True"})
	}
	shown := h.fare("Current", "2 of 2 available")
	replicas, _, _ := unstructured.NestedInt64(shown.Object, "status", "availableReplicas")
	require.EqualValues(t, 4, replicas)
	listed := must[api.ListResponse](h, api.VerbList, api.ListRequest{APIVersion: "apps/v1", Kind: "Deployment"})
	text, err := shown.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(listed.Items[0]))
	again := must[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: listed.Items})
	require.Equal(t, api.ActionUnchanged, again.Results[0].Action, "what is shown of members is nobody's to apply")

	quiet := must[api.WatchResponse](h, api.VerbWatch, watching("", longest, "ConfigMap")).Mark
	deployments := api.WatchRequest{Kinds: []api.WatchedKind{{APIVersion: "apps/v1", Kind: "Deployment"}}, Wait: metav1.Duration{Duration: longest}}
	deployments.After = must[api.WatchResponse](h, api.VerbWatch, deployments).Mark
	waits := h.watches(h.client, deployments)
	h.hear(api.PlacementResult{Member: "oslo", UID: uid, Applied: "False", Failed: 1, Failures: []api.ManifestFailure{{
		ObjectRef: api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Condition: "Applied", Reason: "ManifestApplyFailed", Message: "denied",
	}}})
	require.True(t, (<-waits).Changed)
	shown = h.fare("Failed", "1 of 2 available, 1 failed")
	require.Contains(t, fmt.Sprint(shown.Object["status"]), "oslo: ManifestApplyFailed: denied")
	require.False(t, must[api.WatchResponse](h, api.VerbWatch, watching(quiet, time.Millisecond, "ConfigMap")).Changed, "of these the placement has none")
	_, _, namespace := faring(t, h.get("Namespace", "", "shop"))
	require.Equal(t, "2 of 2 available", namespace.GetAnnotations()[api.AnnotationOnMembers], "only the Deployment failed")

	told := func(of string, change func()) {
		deployments.After = ""
		deployments.After = must[api.WatchResponse](h, api.VerbWatch, deployments).Mark
		waits := h.watches(h.client, deployments)
		change()
		require.True(t, (<-waits).Changed, of)
	}
	oslo := func(state api.MemberState) {
		record := beat(elsewhen.Now(), "oslo", nil)
		record.State = state
		write(h, subjects.Members, "oslo", record)
	}
	told("a member that nobody hears of", func() { oslo(api.MemberUnknown) })
	h.fare("InProgress", "1 of 2 available")
	oslo(api.MemberReady)
	told("a freeze", func() {
		_, failure := h.freeze(api.VerbFreeze, api.FreezePlacements)
		require.Nil(t, failure)
	})
	_, failure := h.freeze(api.VerbUnfreeze, api.FreezePlacements)
	require.Nil(t, failure)

	h.apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 5}}`)
	h.fare("InProgress", "0 of 2 available")
	_, _, namespace = faring(t, h.get("Namespace", "", "shop"))
	require.Equal(t, "2 of 2 available", namespace.GetAnnotations()[api.AnnotationOnMembers], "members have it as it was applied last")
	h.delete(api.KindClusterResourcePlacement, "", "web")
	h.fare("InProgress", "not placed")
}

// What nothing selects fails once its deadline has passed; who watches is told then, though nothing was written.
func TestContentThatNothingSelectsFailsInTime(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, shopFront, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: hasty, namespace: shop}, spec: {progressDeadlineSeconds: 2}}`)
	h.fare("InProgress", "not placed")
	request := api.WatchRequest{Kinds: []api.WatchedKind{{APIVersion: "apps/v1", Kind: "Deployment"}}, Wait: metav1.Duration{Duration: longest}}
	bustest.Eventually(t, func() error {
		request.After = must[api.WatchResponse](h, api.VerbWatch, request).Mark
		is, _, shown := faring(t, h.get("Deployment", "shop", "hasty"))
		if is == "InProgress" {
			if found := <-h.watches(h.client, request); found.err != nil || !found.Changed {
				return errors.New("nobody was told")
			}
			is, _, shown = faring(t, h.get("Deployment", "shop", "hasty"))
		}
		if is != "Failed" {
			return fmt.Errorf("found %s, expected Failed", is)
		}
		require.Contains(t, fmt.Sprint(shown.Object["status"]), "NotPlaced")
		return nil
	})
	h.fare("InProgress", "not placed")
}
