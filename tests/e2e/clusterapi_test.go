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
	y := newAPIYard(t)
	y.objects("plain.yaml")
	control, workers := y.state("kubeadmcontrolplane", "m2"), y.state("machinedeployment", "small")
	y.says(control, `3 3 3 3 [{"replicas":3,"version":"v1.36.2"}]`)
	y.says(workers, `3 3 3 3 [{"replicas":3,"version":"v1.36.2"}]`)
	y.joins(apiMember, y.cluster)
	y.upgrades(control)
	require.Equal(t, `3 3 3 3 [{"replicas":3,"version":"v1.36.3"}]`, control())
	require.Equal(t, `3 3 3 3 [{"replicas":3,"version":"v1.36.3"}]`, workers())
	y.givesUp()
	y.says(workers, `2 2 2 2 [{"replicas":2,"version":"v1.36.3"}]`)
	y.movesATopology()
}

// upgrades has a run move the member, and kills the agent while its control plane is on the way.
func (y *yard) upgrades(control func() string) {
	y.Helper()
	y.run("run", "create", "up", "--to", "1.36.3")
	y.run("run", "start", "up")
	y.until(func(context.Context) error {
		if found := control(); !strings.Contains(found, "v1.36.2") || !strings.Contains(found, "v1.36.3") {
			return fmt.Errorf("found %s", found)
		}
		return nil
	})
	y.agents[apiMember].Kill()
	y.agents[apiMember].Start(y.TB)
	y.completes("up")
	require.Equal(y, "v1.36.3 v1.36.3 v1.36.3", y.kubelets(y.cluster, "node-role.kubernetes.io/control-plane"))
	require.Equal(y, "v1.36.3 v1.36.3 v1.36.3", y.kubelets(y.cluster, api.LabelNodePool+"=workers"))
	require.Contains(y, y.told("kubeadmcontrolplane", "m2", "{.metadata.annotations.flotilla\\.io/upgrade}"), `"version":"v1.36.3"`)
}

// givesUp has one of three workers emptied and taken away: the one that was named, and no other.
func (y *yard) givesUp() {
	y.Helper()
	y.apply(yardCatalog + "---" + apiPool)
	machines := func() []string {
		return strings.Fields(y.told("machines", "-l", management.LabelDeployment+"=small", "{range .items[*]}{.metadata.name} {.status.nodeRef.name} {end}"))
	}
	before := machines()
	require.Len(y, before, 6)
	y.has(before[1], before[3], before[5])
	y.until(func(context.Context) error {
		_, err := y.try("delete", "node", before[3], "-m", apiMember)
		return err
	})
	y.has(before[1], before[5])
	y.until(func(context.Context) error {
		if found := machines(); !slices.Equal(found, []string{before[0], before[1], before[4], before[5]}) {
			return fmt.Errorf("of %v there are %v", before, found)
		}
		return nil
	})
	y.says(func() string {
		return y.told("machinedeployment", "small", "{.spec.replicas}{.metadata.annotations.flotilla\\.io/machines}")
	}, "2")
}

// movesATopology has runs move a member whose Cluster has a topology, on the management cluster that the other one is:
// the control plane alone at first, and then the workers that were left behind.
func (y *yard) movesATopology() {
	y.Helper()
	y.objects("class.yaml")
	y.objects("topology.yaml")
	versions := func() string {
		const running = "{range .items[*]}{.status.versions[*].version} x{.status.availableReplicas} {end}"
		return strings.Join([]string{
			y.told("cluster", "m1", "{.spec.topology.version} {.spec.topology.workers.machineDeployments[*].metadata.annotations}"),
			y.told("kubeadmcontrolplanes", "-l", management.LabelCluster+"=m1", running),
			y.told("machinedeployments", "-l", management.LabelCluster+"=m1", running),
		}, ", ")
	}
	y.says(versions, "v1.36.2, v1.36.2 x1, v1.36.2 x1 v1.36.2 x1")
	y.joins(managedMember, clusterOf(y.TB, managedMember))
	y.run("run", "create", "control", "--to", "1.36.3", "--type", "ControlPlaneOnly")
	y.run("run", "start", "control")
	y.completes("control")
	const behind = `{"topology.cluster.x-k8s.io/defer-upgrade":"flotilla"}`
	require.Equal(y, "v1.36.3 "+behind+" "+behind+", v1.36.3 x1, v1.36.2 x1 v1.36.2 x1", versions())
	y.run("run", "create", "rest", "--to", "1.36.3")
	y.run("run", "start", "rest")
	y.completes("rest")
	y.says(versions, "v1.36.3 {} {}, v1.36.3 x1, v1.36.3 x1 v1.36.3 x1")
}

// completes waits until a run is Completed.
func (y *yard) completes(run string) {
	y.Helper()
	y.until(func(context.Context) error {
		found, err := y.try("get", "updaterun", run, "-o", "jsonpath={.status.status.state} {.status.stages[*].groups[*].members[*].message}")
		if err == nil && !strings.HasPrefix(found, "Completed") {
			err = fmt.Errorf("run %s is %s", run, found)
		}
		return err
	})
}

// kubelets are the versions of nodes.
func (y *yard) kubelets(c *lab.Cluster, selector string) string {
	y.Helper()
	return kubectlSays(y.TB, c, "get", "nodes", "-l", selector, "-o", "jsonpath={range .items[*]}{.status.nodeInfo.kubeletVersion} {end}")
}

// told is what the management cluster says of objects; the last word is a JSONPath.
func (y *yard) told(words ...string) string {
	y.Helper()
	path := words[len(words)-1]
	return kubectlSays(y.TB, y.cluster, append(append([]string{"get", "-n", y.ns}, words[:len(words)-1]...), "-o", "jsonpath="+path)...)
}

// state is how many machines are wanted, new, available and there, and in which versions.
func (y *yard) state(kind, name string) func() string {
	return func() string {
		return y.told(kind, name, "{.spec.replicas} {.status.upToDateReplicas} {.status.availableReplicas} {.status.replicas} {.status.versions}")
	}
}

// objects applies a file to the namespace of the Clusters.
func (y *yard) objects(name string) {
	y.Helper()
	kubectlSays(y.TB, y.cluster, "apply", "-n", y.ns, "-f", "clusterapi/"+name)
}

// newAPIYard starts Cluster API and a hub. The agents may do what the chart for management clusters says.
func newAPIYard(t *testing.T) *yard {
	t.Helper()
	c := clusterOf(t, apiMember)
	startClusterAPI(t, c)
	y := &yard{fleet: newHub(t), cluster: c, ns: namespace(t, c)}
	t.Cleanup(y.clear)
	y.objects("templates.yaml")
	y.introduces(apiMember, c)
	y.introduces(managedMember, clusterOf(t, managedMember))
	files, err := kubernetes.Render(kubernetes.Management, y.ns, nil)
	require.NoError(t, err)
	y.create(kubernetes.Text(files))
	plays(t, y.ns, c)
	return y
}

// introduces tells Cluster API what it needs to know of a cluster that it did not make: the way to it, and the
// certificates of its etcd.
func (y *yard) introduces(name string, c *lab.Cluster) {
	y.Helper()
	admin, err := c.Admin()
	require.NoError(y, err)
	certificate, key := authorityOf(y.TB, "etcd")
	crt, private := y.path("etcd.crt"), y.path("etcd.key")
	require.NoError(y, os.WriteFile(crt, certificate, 0o600))
	require.NoError(y, os.WriteFile(private, key, 0o600))
	for secret, files := range map[string][]string{
		"-kubeconfig": {"--from-file=value=" + admin}, "-etcd": {"--from-file=tls.crt=" + crt},
		"-apiserver-etcd-client": {"--from-file=tls.crt=" + crt, "--from-file=tls.key=" + private},
	} {
		kubectlSays(y.TB, y.cluster, append([]string{"create", "secret", "generic", name + secret, "--type=cluster.x-k8s.io/secret", "-n", y.ns}, files...)...)
		kubectlSays(y.TB, y.cluster, "label", "secret", name+secret, "-n", y.ns, management.LabelCluster+"="+name)
	}
}

// joins has the agent of a member join, which changes it by Cluster API.
func (y *yard) joins(member string, c *lab.Cluster) {
	y.Helper()
	way, err := y.cluster.Kubeconfig("system:serviceaccount:" + y.ns + ":flotilla-agent")
	require.NoError(y, err)
	text := fmt.Sprintf("clusterAPI: {kubeconfig: %s, namespace: %s}\nupgrade: {driver: clusterapi, clusterAPI: {interval: 200ms}}\nnodes: {provider: clusterapi, interval: 200ms, leastDrain: 1s}\n", way, y.ns)
	require.NoError(y, os.WriteFile(y.path(member+".yaml"), []byte(text), 0o600))
	y.join(member, c, "--config", y.path(member+".yaml"))
}
