package clusterapi

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// While Cluster API is told not to act nothing is asked of it, and why is said.
func TestAPausedClusterIsLeftAlone(t *testing.T) {
	for name, one := range map[string]struct{ cluster, deployment, says string }{
		"its spec":             {cluster: `{"spec":{"paused":true}}`, says: "Cluster fleet/berlin is paused"},
		"its annotation":       {cluster: `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`, says: "Cluster fleet/berlin is paused"},
		"a MachineDeployment":  {deployment: `{"spec":{"paused":true}}`, says: "MachineDeployment small is paused"},
		"a MachineDeployment2": {deployment: `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`, says: "MachineDeployment small is paused"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain, small)
			w.up(w.machine("small"))
			if one.cluster != "" {
				w.change(management.Clusters, "berlin", one.cluster)
				require.Equal(t, one.says, w.launches(launch))
			} else {
				w.change(management.MachineDeployments, "small", one.deployment)
				require.Contains(t, w.answered(launch).Failed, one.says)
			}
			_, err := w.Delete(t.Context(), api.NodeMachine{Node: "node-small-001"})
			require.EqualError(t, err, one.says)
			require.EqualValues(t, 2, w.replicas("small"))
			require.Empty(t, w.read(management.Machines, "small-001").GetAnnotations())
		})
	}
}

// What no MachineDeployment gives up is not taken.
func TestMachinesOfOthersStay(t *testing.T) {
	w := newWorld(t, plain, small)
	w.up(w.machine("small"))
	w.change(management.Machines, "small-001", `{"metadata":{"labels":{"cluster.x-k8s.io/control-plane":""}}}`)
	m := api.NodeMachine{Node: "node-small-001"}
	_, err := w.Delete(t.Context(), m)
	require.EqualError(t, err, "machine small-001 is one of the control plane, which nodes of a NodePool are not")
	w.change(management.Machines, "small-001", `{"metadata":{"labels":{"cluster.x-k8s.io/control-plane":null,"cluster.x-k8s.io/deployment-name":null}}}`)
	_, err = w.Delete(t.Context(), m)
	require.EqualError(t, err, "machine small-001 is of no MachineDeployment, and nothing else is made smaller: delete it by hand")
}

// A node whose Machine is not found is gone, unless Cluster API says that it is another Cluster's.
func TestAMachineThatIsNotFoundIsGone(t *testing.T) {
	w := newWorld(t, plain, small)
	w.up(w.machine("small"))
	gone := func(m api.NodeMachine) bool {
		is, err := w.Gone(t.Context(), m)
		require.NoError(t, err)
		return is
	}
	require.False(t, gone(api.NodeMachine{Node: "node-small-001", ProviderID: "cloud://small-001"}))
	require.False(t, gone(api.NodeMachine{Node: "some"}), "it cannot be told")
	lost := api.NodeMachine{Node: "lost", ProviderID: "cloud://lost"}
	require.True(t, gone(lost))
	require.True(t, w.removes(lost))

	node := object(t, `{apiVersion: v1, kind: Node, metadata: {name: lost, annotations: {cluster.x-k8s.io/cluster-name: oslo, cluster.x-k8s.io/cluster-namespace: fleet}}}`)
	_, err := w.member.Resource(nodes).Create(t.Context(), node, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, ask := range []func() (bool, error){
		func() (bool, error) { return w.Gone(t.Context(), lost) }, func() (bool, error) { return w.Delete(t.Context(), lost) },
	} {
		is, err := ask()
		require.False(t, is)
		require.EqualError(t, err, "node lost is of Cluster fleet/oslo, not of fleet/berlin: clusterAPI.namespace and clusterAPI.cluster of the agent's configuration name another")
	}
	require.NoError(t, unstructured.SetNestedField(node.Object, "berlin", "metadata", "annotations", management.AnnotationClusterName))
	_, err = w.member.Resource(nodes).Update(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.True(t, gone(lost))
}

// A launch whose Machine goes before it has a machine takes the one that comes in its place; one that had its answer is over.
func TestAMachineThatIsReplacedMeanwhile(t *testing.T) {
	w := newWorld(t, plain, small)
	w.up(w.machine("small"))
	w.up(w.machine("small"))
	w.launches(launch)
	w.act("small")
	w.launches(launch)
	require.NoError(t, w.objects.Tracker().Delete(management.Machines, "fleet", "small-003"))
	w.act("small")
	w.launches(launch)
	w.up("small-004")
	require.Equal(t, "node-small-004", w.answered(launch).Node)
	require.EqualValues(t, 3, w.replicas("small"))

	w.change(management.Machines, "small-004", `{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`)
	require.Equal(t, "Machine small-004, which was made for it, is being deleted", w.answered(launch).Failed)

	other := launch
	other.Name = "drift-9-0"
	w.launches(other)
	require.NoError(t, w.objects.Tracker().Delete(management.MachineDeployments, "fleet", "small"))
	require.Contains(t, w.answered(other).Failed, "no MachineDeployment of Cluster fleet/berlin")
}

// What keeps the agent from the management cluster is said with what mends it.
func TestWhatIsMissingIsNamed(t *testing.T) {
	forbidden := apierrors.NewForbidden(management.Machines.GroupResource(), "", nil)
	unserved := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404, Message: "the server could not find the requested resource"}}
	for name, one := range map[string]struct {
		cluster, verb, resource string
		err                     error
		says                    string
	}{
		"permission":   {plain, "list", "machines", forbidden, "the agent may not list machines of cluster.x-k8s.io in namespace fleet at https://management, which Role flotilla-management of docs/members.md lets it"},
		"definitions":  {plain, "list", "machinedeployments", unserved, "the management cluster at https://management serves no machinedeployments of cluster.x-k8s.io/v1beta2, expected Cluster API v1.11 or newer"},
		"credentials":  {plain, "get", "clusters", apierrors.NewUnauthorized("no"), "the management cluster at https://management does not know the agent; give clusterAPI.kubeconfig credentials that are still good"},
		"the Cluster":  {`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: oslo, namespace: fleet}}`, "", "", nil, "found no Cluster fleet/berlin at https://management: clusterAPI.namespace and clusterAPI.cluster of the agent's configuration name it"},
		"a bad answer": {plain, "get", "clusters", apierrors.NewInternalError(corev1.ErrIntOverflowGenerated), "get clusters at https://management: Internal error occurred"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, one.cluster, small)
			if one.err != nil {
				w.objects.PrependReactor(one.verb, one.resource, func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, one.err })
			}
			require.ErrorContains(t, w.o.View.Check(t.Context()), one.says)
			_, err := w.Launch(t.Context(), launch)
			require.ErrorContains(t, err, one.says)
			_, err = w.Delete(t.Context(), api.NodeMachine{Node: "n"})
			require.ErrorContains(t, err, one.says)
		})
	}
}

// An annotation that somebody has spoilt is no reason to change a number twice.
func TestNotesThatCannotBeReadStopEverything(t *testing.T) {
	w := newWorld(t, plain, small)
	w.change(management.MachineDeployments, "small", `{"metadata":{"annotations":{"flotilla.io/machines":"?"}}}`)
	_, err := w.Launch(t.Context(), launch)
	require.ErrorContains(t, err, "annotation flotilla.io/machines of machinedeployments small: invalid character")
	require.ErrorContains(t, err, "take it off when no node is being replaced")
	require.EqualValues(t, 2, w.replicas("small"))
}
