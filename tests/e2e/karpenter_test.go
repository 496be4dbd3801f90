//go:build e2e && drivers

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/tests/e2e/lab"
	"flotilla/tests/rig"
)

// startKarpenter builds Karpenter, with its provider of machines that kwok plays, and starts it beside a cluster.
func startKarpenter(t *testing.T, c *lab.Cluster) {
	t.Helper()
	source := moduleOf(t, "karpenter", "sigs.k8s.io/karpenter")
	for _, folder := range []string{"pkg/apis/crds", "kwok/apis/crds"} {
		kubectlSays(t, c, "apply", "--server-side", "-f", filepath.Join(source, folder))
	}
	kubectlSays(t, c, "wait", "--for=condition=Established", "--timeout=1m", "crd", "nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "kwoknodeclasses.karpenter.kwok.sh")
	admin, err := c.Admin()
	require.NoError(t, err)
	rig.Start(t, []string{"KUBECONFIG=" + admin, "DISABLE_LEADER_ELECTION=true", "METRICS_PORT=0", "HEALTH_PROBE_PORT=0"}, buildOf(t, "karpenter", "sigs.k8s.io/karpenter/kwok"))
}

func kubectlSays(t testing.TB, c *lab.Cluster, words ...string) string {
	t.Helper()
	path, err := c.Admin()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), programs.Kubectl(), append([]string{"--kubeconfig=" + path}, words...)...).CombinedOutput()
	require.NoError(t, err, "kubectl %v: %s", words, out)
	return strings.TrimSpace(string(out))
}

const karpenterPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: workers}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s, budgets: [{nodes: 100%%}]}
  template:
    metadata: {labels: {e2e.example/generation: %s}}
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [c-4x-amd64-linux]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [test-zone-a]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`

const karpenterCatalog = `
apiVersion: flotilla.io/v1alpha1
kind: InstanceCatalog
metadata: {name: all}
spec:
  types:
  - name: c-4x-amd64-linux
    cpu: 4
    memory: 8Gi
    offerings: [{zone: test-zone-a, capacityType: on-demand, price: 0.108589934592}]
`

const karpenterClass = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
`

// A node that Karpenter finds drifted is replaced by a NodeClaim that the hub decided upon, while Karpenter, which would
// do it by itself, is held; when the member leaves it has its budgets back.
func TestKarpenterMakesWhatTheHubDecides(t *testing.T) {
	c := clusterOf(t, lastMember())
	startKarpenter(t, c)
	config := filepath.Join(t.TempDir(), "hub.yaml")
	require.NoError(t, os.WriteFile(config, []byte("disruption: {validationWait: 1s, interval: 200ms}\n"), 0o600))
	h := &harness{fleet: newHub(t, "--config", config), cluster: c, ns: namespace(t, c)}
	t.Cleanup(h.clear)
	agent := h.path("agent.yaml")
	require.NoError(t, os.WriteFile(agent, []byte("nodes: {provider: karpenter, interval: 200ms, leastDrain: 1s}\n"), 0o600))
	h.create(karpenterClass + "---" + fmt.Sprintf(karpenterPool, "one"))
	h.join(lastMember(), c, "--config", agent)
	h.apply(karpenterCatalog + "---" + fmt.Sprintf(karpenterPool, "one"))
	budgets := func() string {
		return kubectlSays(t, c, "get", "nodepool", "workers", "-o", "jsonpath={.spec.disruption.budgets}{.metadata.annotations.flotilla\\.io/karpenter-budgets}")
	}
	h.says(budgets, `[{"nodes":"0"}][{"nodes":"100%"}]`)
	h.deploys()
	before := h.only()
	claims := func() string { return kubectlSays(t, c, "get", "nodeclaims", "-o", "name") }
	first := claims()

	kubectlSays(t, c, "patch", "nodepool", "workers", "--type=merge", "-p", `{"spec":{"template":{"metadata":{"labels":{"e2e.example/generation":"two"}}}}}`)
	h.apply(fmt.Sprintf(karpenterPool, "two"))
	done := h.ended(api.PhaseDone)
	require.Equal(t, api.ReasonDrifted, done.Reason)
	require.Equal(t, []string{before.Name}, done.Nodes)
	require.Len(t, done.Replacements, 1)
	after := h.only()
	require.Equal(t, done.Replacements[0].Node, after.Name)
	require.Equal(t, "two", after.Labels["e2e.example/generation"])
	require.Contains(t, after.Finalizers, api.FinalizerKarpenter)
	require.NotContains(t, after.Finalizers, api.FinalizerTermination)
	require.Empty(t, after.Spec.Taints)
	h.until(func(ctx context.Context) error { return available(ctx, c, h.ns, "web") })
	require.NotEqual(t, first, claims())
	require.Equal(t, "nodeclaim.karpenter.sh/"+done.Replacements[0].Name, claims(), "the launch of the hub, and no other")
	require.Equal(t, `[{"nodes":"0"}][{"nodes":"100%"}]`, budgets())

	h.run("member", "leave", lastMember())
	h.says(budgets, `[{"nodes":"100%"}]`)
}

// create applies a text to the cluster.
func (h *harness) create(text string) {
	h.Helper()
	path := h.path("created.yaml")
	require.NoError(h, os.WriteFile(path, []byte(text), 0o600))
	kubectlSays(h.TB, h.cluster, "apply", "-f", path)
}

// says waits until something says this.
func (h *harness) says(what func() string, wanted string) {
	h.Helper()
	h.until(func(context.Context) error {
		if found := what(); found != wanted {
			return fmt.Errorf("found %s, expected %s", found, wanted)
		}
		return nil
	})
}

// deploys has two pods wait for a node of the pool, until Karpenter has made one.
func (h *harness) deploys() {
	h.Helper()
	template := podOf("registry.example/web:v1")
	template.Spec.NodeSelector = map[string]string{api.LabelNodePool: "workers"}
	template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	template.Spec.TerminationGracePeriodSeconds = new(int64(1))
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Template: template, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	_, err := h.cluster.Clients().AppsV1().Deployments(h.ns).Create(h.Context(), d, metav1.CreateOptions{})
	require.NoError(h, err)
	h.until(func(ctx context.Context) error { return available(ctx, h.cluster, h.ns, "web") })
}

// only is the one node of the pool.
func (h *harness) only() *corev1.Node {
	h.Helper()
	all, err := h.nodes(h.Context())
	require.NoError(h, err)
	require.Len(h, all, 1)
	for _, node := range all {
		return node
	}
	return nil
}
