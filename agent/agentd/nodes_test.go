package agentd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Nodes are told as they are configured; once all are, the metrics say so.
func TestNodesAreTold(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	o := options(t, server, "berlin")
	o.Config.MetricsAddress = "127.0.0.1:0"
	o.Config.Nodes.Interval = configs.Duration(20 * time.Millisecond)
	o.Config.Target.Memory.Nodes = []configs.Nodes{
		{Name: "loose", CPU: "2", Memory: "4Gi"},
		{
			Name: "spot", CPU: "4", Memory: "16Gi", InstanceType: "d4", Zone: "z-1", NodePool: "batch", CapacityType: "spot",
			Labels: map[string]string{"rack": "r1"}, Annotations: map[string]string{api.AnnotationDoNotDisrupt: "true"},
			Taints: []api.NodeTaint{{Key: "batch", Value: "yes", Effect: "NoSchedule"}},
		},
	}
	a := start(t, o)
	agent := server.Agent(t, "berlin")
	var inventory api.NodeInventory
	bustest.Eventually(t, func() (err error) {
		if inventory, err = agent.NodeInventory(t.Context()); err == nil && len(inventory.Nodes) != 2 {
			err = fmt.Errorf("the inventory is of %v", inventory.Nodes)
		}
		return err
	})
	loose, err := agent.NodeEvent(t.Context(), "loose")
	require.NoError(t, err)
	require.False(t, loose.Node.Managed)
	spot, err := agent.NodeEvent(t.Context(), "spot")
	require.NoError(t, err)
	n := spot.Node
	require.True(t, n.Managed && n.Initialized)
	require.Equal(t, "true", n.Annotations[api.AnnotationDoNotDisrupt])
	require.Contains(t, n.Taints, corev1.Taint{Key: "batch", Value: "yes", Effect: corev1.TaintEffectNoSchedule})
	for key, want := range map[string]string{
		api.LabelNodePool: "batch", api.LabelCapacityType: "spot", "rack": "r1", corev1.LabelInstanceTypeStable: "d4", corev1.LabelTopologyZone: "z-1",
	} {
		require.Equal(t, want, n.Labels[key], key)
	}
	bustest.Eventually(t, func() error { return says(a, `flotilla_agent_unpublished_nodes{member="berlin"} 0`) })
}

// says checks that the agent's metrics hold a line.
func says(a *Agent, line string) error {
	answer, err := http.Get("http://" + a.MetricsAddress() + "/metrics") //nolint:noctx // a test of its own server
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && !strings.Contains(string(body), line) {
		err = fmt.Errorf("metrics are %s", body)
	}
	return err
}

func TestNodesAreNobodysBusinessWhereTheConfigurationSaysSo(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	o := options(t, server, "berlin")
	o.Config.Nodes.Enabled = false
	start(t, o)
	agent := server.Agent(t, "berlin")
	bustest.Eventually(t, func() error {
		inventory, err := agent.NodeInventory(t.Context())
		if err == nil && (inventory.Withheld != leftAlone || len(inventory.Nodes) != 0) {
			err = fmt.Errorf("the inventory is %+v", inventory)
		}
		return err
	})
	bustest.Eventually(t, func() error {
		if _, told := store.Inventories.Get("berlin"); !told {
			return errors.New("the versions are not told yet")
		}
		return nil
	})
	stream, err := store.Conn.JS.Stream(t.Context(), store.Conn.Fleet.Stream(subjects.Events))
	require.NoError(t, err)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, info.State.Msgs, "the versions, and that nothing is told")
}

// unreachable is the configuration of a Kubernetes cluster that does not answer.
func unreachable(t *testing.T, o *Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`), 0o600))
	o.Config.Target.Type, o.Config.Target.Kubernetes.Kubeconfig = configs.TargetKubernetes, path
}

// Nobody's machines are touched on a cluster before it is said who makes them.
func TestNodesOfAClusterNeedAProvider(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	o := options(t, server, "berlin")
	unreachable(t, &o)
	start(t, o)
	bustest.Eventually(t, func() error {
		inventory, err := server.Agent(t, "berlin").NodeInventory(t.Context())
		if err == nil && inventory.Withheld != nobodyMakes {
			err = fmt.Errorf("the inventory is %+v", inventory)
		}
		return err
	})
	for provider, wanted := range map[string]string{
		configs.ProviderMemory:     `nodes.provider: found "memory", expected another, because the member is not one in memory`,
		configs.ProviderExec:       `nodes.provider: nodes.exec.delete: the command "no-such-program" cannot be run`,
		configs.ProviderClusterAPI: `nodes.provider: clusterAPI.kubeconfig: reading kubeconfig /nowhere/management`,
	} {
		o := options(t, server, "oslo")
		unreachable(t, &o)
		o.Config.Nodes.Provider = provider
		o.Config.ClusterAPI.Kubeconfig = "/nowhere/management"
		o.Config.Nodes.Exec.Launch, o.Config.Nodes.Exec.Delete = []string{"true"}, []string{"no-such-program"}
		a, err := New(o)
		require.NoError(t, err)
		require.ErrorContains(t, a.Start(t.Context()), wanted)
		require.NoError(t, a.Stop())
	}
}

// Objects of a cluster are not to be had of a member that is none.
func TestAMemberInMemoryHasNoMachinesOfACluster(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	for _, provider := range []string{configs.ProviderKarpenter, configs.ProviderClusterAPI} {
		o := options(t, server, "oslo")
		o.Config.Nodes.Provider = provider
		a, err := New(o)
		require.NoError(t, err)
		require.ErrorContains(t, a.Start(t.Context()), fmt.Sprintf("nodes.provider: found %q, expected another, because the member is not a Kubernetes cluster", provider))
		require.NoError(t, a.Stop())
	}
}

// What the configuration may name is in the tables.
func TestEveryTypeIsInItsTable(t *testing.T) {
	for field, table := range map[string][]string{
		"nodes.provider": slices.Collect(maps.Keys(providers)), "upgrade.driver": slices.Collect(maps.Keys(drivers)), "target.type": slices.Collect(maps.Keys(targets)),
	} {
		o := configs.DefaultAgent()
		for _, kind := range append(table, "magic") {
			switch field {
			case "nodes.provider":
				o.Nodes.Provider = kind
			case "upgrade.driver":
				o.Upgrade.Driver = kind
			case "target.type":
				o.Target.Type = kind
			}
			for _, f := range o.Validate() {
				if f.Path != field {
					continue
				}
				require.Equal(t, "magic", kind, "%v", f)
				for _, known := range table {
					require.Contains(t, f.Expected, known)
				}
				require.Len(t, strings.Split(strings.TrimPrefix(f.Expected, "one of "), ", "), len(table), f.Expected)
			}
		}
	}
}
