package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/target/memory/faults"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/disk"
	"flotilla/configs/examples"
	"flotilla/core/api"
	"flotilla/hub/dev"
)

// settles waits until a member holds exactly these objects under namespace shop.
func (s *slice) settles(member string, want map[string]string) {
	s.t.Helper()
	bustest.EventuallyIn(s.t, 20*time.Second, func() error {
		held := s.holds(member, "shop")
		if fmt.Sprint(held) != fmt.Sprint(want) {
			return fmt.Errorf("%s holds %v, expected %v", member, held, want)
		}
		return nil
	})
}

// leaves deletes an object and waits until the hub has forgotten it.
func (s *slice) leaves(kind, name string) {
	s.t.Helper()
	s.ask(api.VerbDelete, api.DeleteRequest{Request: "delete-" + name, Object: api.ObjectRef{Kind: kind, Name: name}}, nil)
	bustest.EventuallyIn(s.t, 20*time.Second, func() error {
		var shown struct{ Metadata metav1.ObjectMeta }
		err := bus.Request(s.t.Context(), s.fleet.Client, api.VerbGet, api.GetRequest{Kind: kind, Name: name}, &shown, bus.RequestOptions{})
		if failure, refused := errors.AsType[*api.Failure](err); refused && failure.Code == api.CodeNotFound {
			return nil
		}
		// A member that left still heartbeats, and is shown without a uid.
		if err == nil && shown.Metadata.UID == "" {
			return nil
		}
		return fmt.Errorf("%s/%s is still there: %w", kind, name, err)
	})
}

var placed = map[string]string{"ConfigMap/settings": "1", "Deployment/web": ""}

// Selectors that cannot be followed are told in the condition Scheduled; members keep what they have,
// and the mended placement goes on from there.
func TestSelectorsThatCannotBeFollowedMoveNothing(t *testing.T) {
	s := newSlice(t, "berlin")
	s.apply(fmt.Sprintf(shop, "1", 1))
	s.converges("web", 1, "1")
	twice := strings.Replace(fmt.Sprintf(shop, "2", 1), "name: shop}]", `name: shop}, {group: "", version: v1, kind: Namespace, labelSelector: {matchExpressions: [{key: nothing, operator: DoesNotExist}]}}]`, 1)
	s.apply(twice)
	bustest.Eventually(t, func() error {
		status, err := s.status("web")
		if err != nil {
			return err
		}
		first := status.Conditions[0]
		if first.Reason != "InvalidResourceSelectors" || !strings.Contains(first.Message, "spec.resourceSelectors[1]") {
			return fmt.Errorf("%+v", first)
		}
		return nil
	})
	require.Equal(t, placed, s.holds("berlin", "shop"), "what runs stays as it was")
	s.apply(fmt.Sprintf(shop, "2", 1))
	s.converges("web", 1, "3")
	require.Equal(t, "2", s.holds("berlin", "shop")["ConfigMap/settings"])
}

// With deleteStrategy Abandon a placement goes and its objects stay.
func TestAnAbandonedPlacementLeavesItsObjects(t *testing.T) {
	s := newSlice(t, "berlin")
	s.apply(strings.Replace(fmt.Sprintf(shop, "1", 1), "strategy: {", "strategy: {deleteStrategy: {propagationPolicy: Abandon}, ", 1))
	s.converges("web", 1, "1")
	s.leaves(api.KindClusterResourcePlacement, "web")
	require.Equal(t, placed, s.holds("berlin", "shop"))
	for _, object := range s.memory("berlin").Objects() {
		require.Empty(t, object.GetAnnotations()[api.AnnotationOwner], "nobody owns it any more")
	}
}

// A member that leaves keeps what it holds, or gives it up when its MemberCluster says so; its place is
// taken by another one in both cases.
func TestALeavingMemberIsReplaced(t *testing.T) {
	for whenLeaving, want := range map[string]map[string]string{"Retain": placed, "Delete": {}} {
		t.Run(whenLeaving, func(t *testing.T) {
			s := newSlice(t, "berlin", "oslo")
			s.apply(fmt.Sprintf(shop, "1", 1))
			status := s.converges("web", 1, "1")
			first := status.PlacementStatuses[0].ClusterName
			other := map[string]string{"berlin": "oslo", "oslo": "berlin"}[first]
			s.apply(fmt.Sprintf(`{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: %s}, spec: {deleteOptions: {whenLeaving: %s}}}`, first, whenLeaving))
			s.leaves(api.KindMemberCluster, first)
			status = s.converges("web", 1, "1")
			require.Equal(t, other, status.PlacementStatuses[0].ClusterName)
			s.settles(first, want)
			s.settles(other, placed)
		})
	}
}

// An envelope is placed as what lies in it, and follows its changes; whoever looks sees no value of a Secret in it.
func TestEnvelopesArePlacedAsWhatLiesInThem(t *testing.T) {
	s := newSlice(t, "berlin")
	text, err := fs.ReadFile(examples.Files, "envelopes/guards.yaml")
	require.NoError(t, err)
	s.apply(string(text))
	status := s.converges("checkout-guards", 1, "1")
	require.Len(t, status.SelectedResources, 6)
	held := func() (all []string) {
		for _, object := range s.memory("berlin").Objects() {
			if object.GetAnnotations()[api.AnnotationOwner] != "" {
				all = append(all, object.GetKind()+"/"+object.GetName())
			}
		}
		slices.Sort(all)
		return all
	}
	require.Equal(t, []string{
		"Namespace/checkout", "PriorityClass/checkout-urgent", "ResourceQuota/small", "Secret/payment-key", "Service/guard", "ValidatingWebhookConfiguration/checkout-guard",
	}, held())

	s.apply(strings.Replace(strings.Replace(string(text), "replace-me", "hunter2", 1), "  key.yaml:", "  renamed.yaml:", 1))
	s.converges("checkout-guards", 1, "2")
	for _, object := range s.memory("berlin").Objects() {
		if object.GetKind() == "Secret" {
			require.Equal(t, map[string]any{"key": "aHVudGVyMg=="}, object.Object["data"])
		}
	}
	for _, kind := range []string{api.KindResourceEnvelope, "ConfigMap"} {
		var shown, events json.RawMessage
		s.ask(api.VerbList, api.ListRequest{Kind: kind}, &shown)
		require.NotContains(t, string(shown), "hunter2")
		s.ask(api.VerbEvents, api.EventsRequest{}, &events)
		require.NotContains(t, string(events), "hunter2")
	}
	s.ask(api.VerbDelete, api.DeleteRequest{Request: "limits", Object: api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1beta1", Kind: api.KindResourceEnvelope, Namespace: "checkout", Name: "limits"}}, nil)
	s.converges("checkout-guards", 1, "3")
	require.Equal(t, []string{"Namespace/checkout", "PriorityClass/checkout-urgent", "Service/guard", "ValidatingWebhookConfiguration/checkout-guard"}, held())
}

// A ResourcePlacement places objects of its namespace on members that have that namespace.
func TestAResourcePlacementNeedsItsNamespace(t *testing.T) {
	s := newSlice(t, "berlin", "oslo")
	s.apply(strings.Replace(fmt.Sprintf(shop, "1", 1), "name: shop}]", "name: shop, selectionScope: NamespaceOnly}]", 1))
	with := s.converges("web", 1, "1").PlacementStatuses[0].ClusterName
	s.apply(`
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata: {name: settings, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap}]
  policy: {placementType: PickAll}
`)
	s.settles(with, map[string]string{"ConfigMap/settings": "1"})
	for _, member := range s.fleet.Members() {
		if member != with {
			require.Empty(t, s.holds(member, "shop"))
		}
	}
}

// A member that is down while its placement is deleted holds nobody up: the deletion ends in bounded time
// and names it, and when it is up again it gives the objects up.
func TestADeletionDoesNotWaitForAMemberThatIsDown(t *testing.T) {
	s := newSlice(t, "berlin")
	s.apply(fmt.Sprintf(shop, "1", 1))
	s.converges("web", 1, "1")
	s.memory("berlin").SetFaults(faults.Faults{Down: true})
	s.leaves(api.KindClusterResourcePlacement, "web")
	bustest.Eventually(t, func() error {
		var answer api.EventsResponse
		s.ask(api.VerbEvents, api.EventsRequest{Object: "placement/web"}, &answer)
		for _, event := range answer.Events {
			if event.Reason == "DeletedUnconfirmed" && strings.Contains(event.Message, "berlin") {
				return nil
			}
		}
		return errors.New("nobody tells who did not confirm")
	})
	require.Equal(t, placed, s.holds("berlin", "shop"))
	s.memory("berlin").SetFaults(faults.Faults{})
	s.settles("berlin", map[string]string{})
}

// When there is no room any more, what was accepted before goes on: a rollout reaches its members, and a deletion ends.
func TestWhatWasAcceptedGoesOnWithoutRoom(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	s := newSliceWith(t, func(o *dev.Options) {
		o.Hub.Disk.Reserve = 1 << 20
		o.Hub.Disk.Statfs = func(string) (disk.Space, error) { return disk.Space{Free: free.Load(), Total: 1 << 40}, nil }
	}, "berlin", "oslo")
	s.apply(fmt.Sprintf(toFailOver, "old", pickAll, ""))
	s.converges("old", 2, "1")
	s.memory("oslo").SetFaults(faults.Faults{Down: true})
	s.apply(fmt.Sprintf(shop, "1", 2))
	free.Store(0)
	var refused *api.Failure
	require.ErrorAs(t, s.tryToApply(fmt.Sprintf(shop, "2", 2)), &refused)
	require.Equal(t, api.CodeNoRoom, refused.Code)
	s.ask(api.VerbPlan, api.PlanRequest{}, nil)
	s.memory("oslo").SetFaults(faults.Faults{})
	s.settles("oslo", placed)
	s.converges("web", 2, "1")
	s.leaves(api.KindClusterResourcePlacement, "old")
	free.Store(1 << 40)
	s.apply(fmt.Sprintf(shop, "2", 2))
}
