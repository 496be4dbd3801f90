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

// yard is a fleet of one real cluster with nodes of NodePool workers, which kwok plays and no pod of other tests is put
// on. Its provider runs scripts that make such nodes.
type yard struct {
	*fleet
	cluster *lab.Cluster
	ns      string
}

// yardMember is the cluster of the yard.
const yardMember = "m3"

const yardCatalog = `
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

var yardTaint = corev1.Taint{Key: "e2e", Value: "yard", Effect: corev1.TaintEffectNoSchedule}

const yardLaunch = `set -eu
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

const yardDelete = `set -eu
cat >/dev/null
echo "delete ${FLOTILLA_NODE:-$FLOTILLA_LAUNCH}" >>"$CALLS"
`

// newYard starts the hub and the agent.
func newYard(t testing.TB) *yard {
	t.Helper()
	c := clusterOf(t, yardMember)
	config := t.TempDir() + "/hub.yaml"
	require.NoError(t, os.WriteFile(config, []byte("disruption: {validationWait: 1s, interval: 200ms}\n"), 0o600))
	y := &yard{fleet: newHub(t, "--config", config), cluster: c, ns: namespace(t, c)}
	require.NoError(t, os.WriteFile(y.path("launch.sh"), []byte(yardLaunch), 0o600))
	require.NoError(t, os.WriteFile(y.path("delete.sh"), []byte(yardDelete), 0o600))
	y.join(yardMember, c, "--config", y.configure("agent.yaml", true))
	y.apply(yardCatalog)
	t.Cleanup(y.clear)
	return y
}

// configure writes the configuration of the agent.
func (y *yard) configure(name string, enabled bool) string {
	y.Helper()
	admin, err := y.cluster.Admin()
	require.NoError(y, err)
	text := fmt.Sprintf(`nodes:
  enabled: %v
  interval: 200ms
  leastDrain: 1s
  provider: exec
  exec:
    launch: [sh, %s]
    delete: [sh, %s]
    environment: {KUBECTL: %s, KUBECONFIG: %s, CALLS: %s}
`, enabled, y.path("launch.sh"), y.path("delete.sh"), programs.Kubectl(), admin, y.path("calls"))
	require.NoError(y, os.WriteFile(y.path(name), []byte(text), 0o600))
	return y.path(name)
}

// clear leaves the cluster to others as it was.
func (y *yard) clear() {
	nodes := y.cluster.Clients().CoreV1().Nodes()
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
func (y *yard) pool(budget, label string) {
	y.Helper()
	y.apply(poolOf(budget, label))
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
      taints: [{key: e2e, value: yard, effect: NoSchedule}]
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`, budget, label)
}

// add makes a node of the pool and waits until the agent looks after it.
func (y *yard) add(name string) {
	y.Helper()
	ctx, cancel := context.WithTimeout(y.Context(), patience)
	defer cancel()
	node := lab.Node(name)
	node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelTopologyZone] = "d4", "z-a"
	require.NoError(y, y.cluster.AddNode(ctx, node))
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"workers",%q:"on-demand"}},"spec":{"taints":[{"key":"e2e","value":"yard","effect":"NoSchedule"}]}}`, api.LabelNodePool, api.LabelCapacityType)
	_, err := y.cluster.Clients().CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(y, err)
	y.until(func(ctx context.Context) error {
		node, err := y.cluster.Clients().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
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
func (y *yard) nodes(ctx context.Context) (map[string]*corev1.Node, error) {
	all, err := y.cluster.Clients().CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: api.LabelNodePool + "=workers"})
	out := map[string]*corev1.Node{}
	for i := range all.Items {
		out[all.Items[i].Name] = &all.Items[i]
	}
	return out, err
}

// runs deploys one pod that asks for so much CPU, on a node and no other; it may go to others later.
func (y *yard) runs(name, cpu, node string) {
	y.Helper()
	y.cordon(node)
	template := podOf("registry.example/web:v1")
	template.Labels = map[string]string{"app": name, "tier": name[:1]}
	template.Spec.NodeSelector = map[string]string{api.LabelNodePool: "workers"}
	template.Spec.Tolerations = []corev1.Toleration{{Key: yardTaint.Key, Operator: corev1.TolerationOpExists}}
	template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	template.Spec.TerminationGracePeriodSeconds = new(int64(1))
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Template: template, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}
	_, err := y.cluster.Clients().AppsV1().Deployments(y.ns).Create(y.Context(), d, metav1.CreateOptions{})
	require.NoError(y, err)
	y.until(func(ctx context.Context) error { return y.at(ctx, name, node) })
	y.cordon("")
}

// cordon keeps new pods off all nodes of the pool but one; "" opens all.
func (y *yard) cordon(but string) {
	y.Helper()
	all, err := y.nodes(y.Context())
	require.NoError(y, err)
	for name := range all {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, but != "" && but != name)
		_, err := y.cluster.Clients().CoreV1().Nodes().Patch(y.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(y, err)
	}
}

// at is an error until the pods of an app run there, one on each of these nodes, and nowhere else.
func (y *yard) at(ctx context.Context, app string, nodes ...string) error {
	pods, err := y.cluster.Clients().CoreV1().Pods(y.ns).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
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
func (y *yard) has(names ...string) {
	y.Helper()
	y.until(func(ctx context.Context) error {
		all, err := y.nodes(ctx)
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
func (y *yard) verdict(node, code string) {
	y.Helper()
	y.until(func(context.Context) error {
		said, err := y.try("why", "node/"+node, "-m", yardMember)
		if err == nil && !strings.Contains(said, code) {
			err = fmt.Errorf("expected %s, found %s", code, said)
		}
		return err
	})
}

// shown are the disruptions as `get disruptions` shows them.
func (y *yard) shown() ([]api.Disruption, error) {
	said, err := y.try("get", "disruptions", "-m", yardMember, "-o", "json")
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
func (y *yard) ended(phase string) api.Disruption {
	y.Helper()
	var last api.Disruption
	y.until(func(context.Context) error {
		all, err := y.shown()
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
func (y *yard) calls() []string {
	text, _ := os.ReadFile(y.path("calls"))
	return strings.Fields(strings.ReplaceAll(string(text), " ", ":"))
}
