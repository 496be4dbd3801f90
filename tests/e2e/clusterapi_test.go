//go:build e2e && drivers

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/management"
	"flotilla/configs/kubernetes"
	"flotilla/core/api"
	"flotilla/tests/e2e/lab"
)

// apiMember manages itself by Cluster API, and another member too: by a topology.
const (
	apiMember     = "m2"
	managedMember = "m1"
)

const apiPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: workers}
spec:
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "0"}]}
  template:
    spec:
      expireAfter: Never
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`

// What the hub decides is done by Cluster API's own controllers: versions move by KubeadmControlPlane, MachineDeployment
// and topology, also when the agent is killed in the middle, and of three machines that one goes whose node was emptied.
func TestClusterAPIDoesWhatTheHubDecides(t *testing.T) {
	h := newAPIHarness(t)
	h.objects("plain.yaml")
	control, workers := h.state("kubeadmcontrolplane", "m2"), h.state("machinedeployment", "small")
	h.says(control, `3 3 3 3 [{"replicas":3,"version":"v1.36.2"}]`)
	h.says(workers, `3 3 3 3 [{"replicas":3,"version":"v1.36.2"}]`)
	h.joins(apiMember, h.cluster)
	h.upgrades(control)
	require.Equal(t, `3 3 3 3 [{"replicas":3,"version":"v1.36.3"}]`, control())
	require.Equal(t, `3 3 3 3 [{"replicas":3,"version":"v1.36.3"}]`, workers())
	h.givesUp()
	h.says(workers, `2 2 2 2 [{"replicas":2,"version":"v1.36.3"}]`)
	h.movesATopology()
}

// upgrades has a run move the member, and kills the agent while its control plane is on the way.
func (h *harness) upgrades(control func() string) {
	h.Helper()
	h.run("run", "create", "up", "--to", "1.36.3")
	h.run("run", "start", "up")
	h.until(func(context.Context) error {
		if found := control(); !strings.Contains(found, "v1.36.2") || !strings.Contains(found, "v1.36.3") {
			return fmt.Errorf("found %s", found)
		}
		return nil
	})
	h.agents[apiMember].Kill()
	h.agents[apiMember].Start(h.TB)
	h.completes("up")
	require.Equal(h, "v1.36.3 v1.36.3 v1.36.3", h.kubelets(h.cluster, "node-role.kubernetes.io/control-plane"))
	require.Equal(h, "v1.36.3 v1.36.3 v1.36.3", h.kubelets(h.cluster, api.LabelNodePool+"=workers"))
	require.Contains(h, h.told("kubeadmcontrolplane", "m2", "{.metadata.annotations.flotilla\\.io/upgrade}"), `"version":"v1.36.3"`)
}

// givesUp has one of three workers emptied and taken away: the one that was named, and no other.
func (h *harness) givesUp() {
	h.Helper()
	h.apply(harnessCatalog + "---" + apiPool)
	machines := func() []string {
		return strings.Fields(h.told("machines", "-l", management.LabelDeployment+"=small", "{range .items[*]}{.metadata.name} {.status.nodeRef.name} {end}"))
	}
	before := machines()
	require.Len(h, before, 6)
	h.has(before[1], before[3], before[5])
	h.until(func(context.Context) error {
		_, err := h.try("delete", "node", before[3], "-m", apiMember)
		return err
	})
	h.has(before[1], before[5])
	h.until(func(context.Context) error {
		if found := machines(); !slices.Equal(found, []string{before[0], before[1], before[4], before[5]}) {
			return fmt.Errorf("of %v there are %v", before, found)
		}
		return nil
	})
	h.says(func() string {
		return h.told("machinedeployment", "small", "{.spec.replicas}{.metadata.annotations.flotilla\\.io/machines}")
	}, "2")
}

// movesATopology has runs move a member whose Cluster has a topology, on the management cluster that the other one is:
// the control plane alone at first, and then the workers that were left behind.
func (h *harness) movesATopology() {
	h.Helper()
	h.objects("class.yaml")
	h.objects("topology.yaml")
	versions := func() string {
		const running = "{range .items[*]}{.status.versions[*].version} x{.status.availableReplicas} {end}"
		return strings.Join([]string{
			h.told("cluster", "m1", "{.spec.topology.version} {.spec.topology.workers.machineDeployments[*].metadata.annotations}"),
			h.told("kubeadmcontrolplanes", "-l", management.LabelCluster+"=m1", running),
			h.told("machinedeployments", "-l", management.LabelCluster+"=m1", running),
		}, ", ")
	}
	h.says(versions, "v1.36.2, v1.36.2 x1, v1.36.2 x1 v1.36.2 x1")
	h.joins(managedMember, clusterOf(h.TB, managedMember))
	h.run("run", "create", "control", "--to", "1.36.3", "--type", "ControlPlaneOnly")
	h.run("run", "start", "control")
	h.completes("control")
	const behind = `{"topology.cluster.x-k8s.io/defer-upgrade":"flotilla"}`
	require.Equal(h, "v1.36.3 "+behind+" "+behind+", v1.36.3 x1, v1.36.2 x1 v1.36.2 x1", versions())
	h.run("run", "create", "rest", "--to", "1.36.3")
	h.run("run", "start", "rest")
	h.completes("rest")
	h.says(versions, "v1.36.3 {} {}, v1.36.3 x1, v1.36.3 x1 v1.36.3 x1")
}

// completes waits until a run is Completed.
func (h *harness) completes(run string) {
	h.Helper()
	h.until(func(context.Context) error {
		found, err := h.try("get", "updaterun", run, "-o", "jsonpath={.status.status.state} {.status.stages[*].groups[*].members[*].message}")
		if err == nil && !strings.HasPrefix(found, "Completed") {
			err = fmt.Errorf("run %s is %s", run, found)
		}
		return err
	})
}

// kubelets are the versions of nodes.
func (h *harness) kubelets(c *lab.Cluster, selector string) string {
	h.Helper()
	return kubectlSays(h.TB, c, "get", "nodes", "-l", selector, "-o", "jsonpath={range .items[*]}{.status.nodeInfo.kubeletVersion} {end}")
}

// told is what the management cluster says of objects; the last word is a JSONPath.
func (h *harness) told(words ...string) string {
	h.Helper()
	path := words[len(words)-1]
	return kubectlSays(h.TB, h.cluster, append(append([]string{"get", "-n", h.ns}, words[:len(words)-1]...), "-o", "jsonpath="+path)...)
}

// state is how many machines are wanted, new, available and there, and in which versions.
func (h *harness) state(kind, name string) func() string {
	return func() string {
		return h.told(kind, name, "{.spec.replicas} {.status.upToDateReplicas} {.status.availableReplicas} {.status.replicas} {.status.versions}")
	}
}

// objects applies a file to the namespace of the Clusters.
func (h *harness) objects(name string) {
	h.Helper()
	kubectlSays(h.TB, h.cluster, "apply", "-n", h.ns, "-f", "clusterapi/"+name)
}

// newAPIHarness starts Cluster API and a hub. The agents may do what the chart for management clusters says.
func newAPIHarness(t *testing.T) *harness {
	t.Helper()
	c := clusterOf(t, apiMember)
	startClusterAPI(t, c)
	h := &harness{fleet: newHub(t), cluster: c, ns: namespace(t, c)}
	t.Cleanup(h.clear)
	h.objects("templates.yaml")
	h.introduces(apiMember, c)
	h.introduces(managedMember, clusterOf(t, managedMember))
	files, err := kubernetes.Render(kubernetes.Management, h.ns, nil)
	require.NoError(t, err)
	h.create(kubernetes.Text(files))
	plays(t, h.ns, c)
	return h
}

// introduces tells Cluster API what it needs to know of a cluster that it did not make: the way to it, and the
// certificates of its etcd.
func (h *harness) introduces(name string, c *lab.Cluster) {
	h.Helper()
	admin, err := c.Admin()
	require.NoError(h, err)
	certificate, key := authorityOf(h.TB, "etcd")
	crt, private := h.path("etcd.crt"), h.path("etcd.key")
	require.NoError(h, os.WriteFile(crt, certificate, 0o600))
	require.NoError(h, os.WriteFile(private, key, 0o600))
	for secret, files := range map[string][]string{
		"-kubeconfig": {"--from-file=value=" + admin}, "-etcd": {"--from-file=tls.crt=" + crt},
		"-apiserver-etcd-client": {"--from-file=tls.crt=" + crt, "--from-file=tls.key=" + private},
	} {
		kubectlSays(h.TB, h.cluster, append([]string{"create", "secret", "generic", name + secret, "--type=cluster.x-k8s.io/secret", "-n", h.ns}, files...)...)
		kubectlSays(h.TB, h.cluster, "label", "secret", name+secret, "-n", h.ns, management.LabelCluster+"="+name)
	}
}

// joins has the agent of a member join, which changes it by Cluster API.
func (h *harness) joins(member string, c *lab.Cluster) {
	h.Helper()
	way, err := h.cluster.Kubeconfig("system:serviceaccount:" + h.ns + ":flotilla-agent")
	require.NoError(h, err)
	text := fmt.Sprintf("clusterAPI: {kubeconfig: %s, namespace: %s}\nupgrade: {driver: clusterapi, clusterAPI: {interval: 200ms}}\nnodes: {provider: clusterapi, interval: 200ms, leastDrain: 1s}\n", way, h.ns)
	require.NoError(h, os.WriteFile(h.path(member+".yaml"), []byte(text), 0o600))
	h.join(member, c, "--config", h.path(member+".yaml"))
}
