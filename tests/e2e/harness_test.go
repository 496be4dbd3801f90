//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
	"flotilla/tests/e2e/lab"
)

// harness is a fleet of one real cluster, the last, with nodes of NodePool workers, which kwok plays and no pod of other tests is put
// on. Its provider runs scripts that make such nodes.
type harness struct {
	*fleet
	cluster *lab.Cluster
	ns      string
}

const harnessCatalog = `
apiVersion: flotilla.io/v1alpha1
kind: InstanceCatalog
metadata: {name: all}
spec:
  types:
  - name: d4
    cpu: 4
    memory: 16Gi
    offerings: [{zone: z-a, capacityType: on-demand, price: 0.2}]
`

var harnessTaint = corev1.Taint{Key: "e2e", Value: "harness", Effect: corev1.TaintEffectNoSchedule}

const harnessLaunch = `set -eu
cat >/dev/null
echo "launch $FLOTILLA_LAUNCH" >>"$CALLS"
if [ -e "$CALLS.fail" ]; then echo "no machine is to be had" >&2; exit 1; fi
if ! "$KUBECTL" get node "$FLOTILLA_LAUNCH" >/dev/null 2>&1; then
  "$KUBECTL" create -f - >&2 <<END
apiVersion: v1
kind: Node
metadata:
  name: $FLOTILLA_LAUNCH
  labels: {kubernetes.io/hostname: $FLOTILLA_LAUNCH}
spec:
  taints: [{key: karpenter.sh/unregistered, effect: NoExecute}]
status:
  capacity: {cpu: "4", memory: 16Gi, pods: "110"}
  allocatable: {cpu: "4", memory: 16Gi, pods: "110"}
END
fi
echo "{\"node\": \"$FLOTILLA_LAUNCH\", \"labels\": {\"node.kubernetes.io/instance-type\": \"d4\", \"topology.kubernetes.io/zone\": \"z-a\", \"karpenter.sh/capacity-type\": \"on-demand\"}}"
`

const harnessDelete = `set -eu
cat >/dev/null
echo "delete ${FLOTILLA_NODE:-$FLOTILLA_LAUNCH}" >>"$CALLS"
`

// newHarness starts the hub and the agent.
func newHarness(t testing.TB) *harness {
	t.Helper()
	c := clusterOf(t, lastMember())
	config := t.TempDir() + "/hub.yaml"
	require.NoError(t, os.WriteFile(config, []byte("disruption: {validationWait: 1s, interval: 200ms}\n"), 0o600))
	h := &harness{fleet: newHub(t, "--config", config), cluster: c, ns: namespace(t, c)}
	require.NoError(t, os.WriteFile(h.path("launch.sh"), []byte(harnessLaunch), 0o600))
	require.NoError(t, os.WriteFile(h.path("delete.sh"), []byte(harnessDelete), 0o600))
	h.join(lastMember(), c, "--config", h.configure("agent.yaml", true))
	h.apply(harnessCatalog)
	t.Cleanup(h.clear)
	return h
}

// configure writes the configuration of the agent.
func (h *harness) configure(name string, enabled bool) string {
	h.Helper()
	admin, err := h.cluster.Admin()
	require.NoError(h, err)
	text := fmt.Sprintf(`nodes:
  enabled: %v
  interval: 200ms
  leastDrain: 1s
  provider: exec
  exec:
    launch: [sh, %s]
    delete: [sh, %s]
    environment: {KUBECTL: %s, KUBECONFIG: %s, CALLS: %s}
`, enabled, h.path("launch.sh"), h.path("delete.sh"), programs.Kubectl(), admin, h.path("calls"))
	require.NoError(h, os.WriteFile(h.path(name), []byte(text), 0o600))
	return h.path(name)
}

// clear leaves the cluster to others as it was.
func (h *harness) clear() {
	nodes := h.cluster.Clients().CoreV1().Nodes()
	all, err := nodes.List(context.Background(), metav1.ListOptions{LabelSelector: api.LabelNodePool + "=workers"})
	if err != nil {
		return
	}
	for i := range all.Items {
		_, _ = nodes.Patch(context.Background(), all.Items[i].Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		_ = nodes.Delete(context.Background(), all.Items[i].Name, metav1.DeleteOptions{})
	}
}

// pool applies NodePool workers.
func (h *harness) pool(budget, label string) {
	h.Helper()
	h.apply(poolOf(budget, label))
}

// poolOf is NodePool workers with a budget and a label of its nodes.
func poolOf(budget, label string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: workers}
spec:
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "%s"}]}
  template:
    metadata: {labels: {e2e/generation: %s}}
    spec:
      expireAfter: Never
      taints: [{key: e2e, value: harness, effect: NoSchedule}]
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`, budget, label)
}

// add makes a node of the pool and waits until the agent looks after it.
func (h *harness) add(name string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	node := lab.Node(name)
	node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelTopologyZone] = "d4", "z-a"
	require.NoError(h, h.cluster.AddNode(ctx, node))
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"workers",%q:"on-demand"}},"spec":{"taints":[{"key":"e2e","value":"harness","effect":"NoSchedule"}]}}`, api.LabelNodePool, api.LabelCapacityType)
	_, err := h.cluster.Clients().CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(h, err)
	h.until(func(ctx context.Context) error {
		node, err := h.cluster.Clients().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && (!finalized(node) || node.Labels[api.LabelInitialized] != "true") {
			err = fmt.Errorf("node %s has finalizers %v and labels %v", name, node.Finalizers, node.Labels)
		}
		return err
	})
}

func finalized(node *corev1.Node) bool {
	return slices.Contains(node.Finalizers, api.FinalizerTermination)
}

func tainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintDisrupted })
}

// nodes are those of the pool, by name.
func (h *harness) nodes(ctx context.Context) (map[string]*corev1.Node, error) {
	all, err := h.cluster.Clients().CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: api.LabelNodePool + "=workers"})
	out := map[string]*corev1.Node{}
	for i := range all.Items {
		out[all.Items[i].Name] = &all.Items[i]
	}
	return out, err
}

// runs deploys one pod that asks for so much CPU, on a node and no other; it may go to others later.
func (h *harness) runs(name, cpu, node string) {
	h.Helper()
	h.cordon(node)
	template := podOf("registry.example/web:v1")
	template.Labels = map[string]string{"app": name, "tier": name[:1]}
	template.Spec.NodeSelector = map[string]string{api.LabelNodePool: "workers"}
	template.Spec.Tolerations = []corev1.Toleration{{Key: harnessTaint.Key, Operator: corev1.TolerationOpExists}}
	template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	template.Spec.TerminationGracePeriodSeconds = new(int64(1))
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Template: template, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}
	_, err := h.cluster.Clients().AppsV1().Deployments(h.ns).Create(h.Context(), d, metav1.CreateOptions{})
	require.NoError(h, err)
	h.until(func(ctx context.Context) error { return h.at(ctx, name, node) })
	h.cordon("")
}

// cordon keeps new pods off all nodes of the pool but one; "" opens all.
func (h *harness) cordon(but string) {
	h.Helper()
	all, err := h.nodes(h.Context())
	require.NoError(h, err)
	for name := range all {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, but != "" && but != name)
		_, err := h.cluster.Clients().CoreV1().Nodes().Patch(h.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(h, err)
	}
}

// at is an error until the pods of an app run there, one on each of these nodes, and nowhere else.
func (h *harness) at(ctx context.Context, app string, nodes ...string) error {
	pods, err := h.cluster.Clients().CoreV1().Pods(h.ns).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return err
	}
	var found []string
	for i := range pods.Items {
		if p := &pods.Items[i]; p.DeletionTimestamp == nil {
			found = append(found, p.Spec.NodeName+" "+string(p.Status.Phase))
		}
	}
	var wanted []string
	for _, node := range nodes {
		wanted = append(wanted, node+" Running")
	}
	slices.Sort(found)
	if !slices.Equal(found, wanted) {
		return fmt.Errorf("the pods of %s are %v, expected %v", app, found, wanted)
	}
	return nil
}

// has waits until the pool has these nodes and no other.
func (h *harness) has(names ...string) {
	h.Helper()
	h.until(func(ctx context.Context) error {
		all, err := h.nodes(ctx)
		if err != nil {
			return err
		}
		var found []string
		for name := range all {
			found = append(found, name)
		}
		slices.Sort(found)
		if !slices.Equal(found, names) {
			return fmt.Errorf("the nodes are %v, expected %v", found, names)
		}
		return nil
	})
}

// verdict waits until why says of a node that it stays for this reason.
func (h *harness) verdict(node, code string) {
	h.Helper()
	h.until(func(context.Context) error {
		said, err := h.try("why", "node/"+node, "-m", lastMember())
		if err == nil && !strings.Contains(said, code) {
			err = fmt.Errorf("expected %s, found %s", code, said)
		}
		return err
	})
}

// shown are the disruptions as `get disruptions` shows them.
func (h *harness) shown() ([]api.Disruption, error) {
	said, err := h.try("get", "disruptions", "-m", lastMember(), "-o", "json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Status api.Disruption `json:"status"`
		} `json:"items"`
	}
	err = json.Unmarshal([]byte(said), &list)
	var out []api.Disruption
	for i := range list.Items {
		out = append(out, list.Items[i].Status)
	}
	return out, err
}

// ended waits until the newest disruption is in a phase, and ended.
func (h *harness) ended(phase string) api.Disruption {
	h.Helper()
	var last api.Disruption
	h.until(func(context.Context) error {
		all, err := h.shown()
		if err != nil || len(all) == 0 {
			return fmt.Errorf("there is no disruption: %w", err)
		}
		if last = all[len(all)-1]; last.Phase != phase || last.Ended.IsZero() {
			return fmt.Errorf("the newest disruption is %+v, expected %s", last, phase)
		}
		return nil
	})
	return last
}

// calls are what the provider was asked for.
func (h *harness) calls() []string {
	text, _ := os.ReadFile(h.path("calls"))
	return strings.Fields(strings.ReplaceAll(string(text), " ", ":"))
}
