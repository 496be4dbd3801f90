package agentd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/upgrader/command"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/subjects"
)

func TestMain(m *testing.M) {
	if command.Supervise() {
		return
	}
	os.Exit(m.Run())
}

// upgrade commands an operation and waits for its result.
func upgrade(t *testing.T, store *store.Store, op api.UpgradeOperation) api.UpgradeResult {
	t.Helper()
	order := api.Order{Epoch: 1, Term: 1, Generation: uint64(op.Attempt)}
	c := api.UpgradeCommand{Header: api.NewHeader(api.KindUpgradeCommand), Member: "berlin", Order: order, Operation: &op}
	_, err := store.Commands.Publish(t.Context(), streams.CommandHead{Member: "berlin", Kind: subjects.CommandUpgrade, Digest: op.ID, Order: order}, c, 0)
	require.NoError(t, err)
	var r api.UpgradeResult
	bustest.Eventually(t, func() error {
		entry, ok := store.Results.Get(subjects.ResultKey("berlin", subjects.CommandUpgrade, op.Run))
		if !ok {
			return errors.New("no result")
		}
		r = api.UpgradeResult{}
		if err := json.Unmarshal(entry.Value, &r); err != nil || r.Outcome == api.OutcomeRunning {
			return fmt.Errorf("result is %+v: %w", r, err)
		}
		return nil
	})
	return r
}

func inventory(t *testing.T, store *store.Store) api.MemberInventory {
	t.Helper()
	var i api.MemberInventory
	bustest.Eventually(t, func() error {
		entry, ok := store.Inventories.Get("berlin")
		if !ok {
			return errors.New("no inventory")
		}
		i = api.MemberInventory{}
		return json.Unmarshal(entry.Value, &i)
	})
	return i
}

var toTheNext = api.UpgradeOperation{ID: "u/berlin/1", Run: "r", Attempt: 1, Type: api.UpgradeFull, ControlPlaneVersion: "1.36.4", NodePools: []api.PoolUpgrade{{Pool: "np1", ToVersion: "1.36.4"}}}

func TestMembersInMemoryAreUpgraded(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	o := options(t, server, "berlin")
	o.Config.ClusterResourceID = "/clusters/berlin"
	o.Config.Upgrade.Memory.ControlPlane, o.Config.Upgrade.Memory.NodePool = 0, 0
	o.Config.Target.Memory.Nodes = []configs.Nodes{
		{Name: "a", Count: 2, CPU: "4", Memory: "16Gi", Pool: configs.NodePool{Name: "np1", OSSKU: "Ubuntu", KubernetesVersion: "v1.36.2", Image: "f-1.2.3"}},
		{Name: "b", CPU: "4", Memory: "16Gi", Pool: configs.NodePool{Name: "np1"}},
		{Name: "c", CPU: "4", Memory: "16Gi", Pool: configs.NodePool{FromSnapshot: true}},
	}
	a := start(t, o)
	i := inventory(t, store)
	require.Equal(t, "westeurope", i.Region)
	require.Equal(t, "/clusters/berlin", i.ClusterResourceID)
	require.Equal(t, "1.36.3", i.ControlPlaneVersion)
	require.Equal(t, []api.NodePoolFacts{
		{Name: "np1", Mode: "System", OSType: "Linux", OSSKU: "Ubuntu", ImageFamily: "f", NodeImageVersion: "f-1.2.3", KubernetesVersion: "1.36.2"},
		{Name: "c", Mode: "User", OSType: "Linux", ImageFamily: "AKSUbuntu-2204gen2containerd", NodeImageVersion: "AKSUbuntu-2204gen2containerd-202401.09.0", KubernetesVersion: "1.36.3", FromSnapshot: true},
	}, i.NodePools)
	r := upgrade(t, store, toTheNext)
	require.Equal(t, api.OutcomeSucceeded, r.Outcome, r.Message)
	require.Equal(t, []string{toTheNext.ID}, a.Memory().UpgradesBegun())
	expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.KubernetesVersion == "v1.36.4" })
}

func TestCommandsOfTheConfigurationUpgrade(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	dir := t.TempDir()
	o := options(t, server, "berlin")
	o.Supervisor = os.Args[0]
	e := &o.Config.Upgrade.Exec
	o.Config.Upgrade.Driver, e.Directory = configs.DriverExec, dir
	e.Command = []string{"/bin/sh", "-c", `echo "$WORD for $FLOTILLA_MEMBER" > said; echo '{"controlPlaneVersion": "1.36.4", "nodePools": [{"name": "np1", "kubernetesVersion": "1.36.4"}]}' > inventory`}
	e.Inventory, e.Environment = []string{"/bin/cat", "inventory"}, map[string]string{"WORD": "all"}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "inventory"), []byte(`{"controlPlaneVersion": "1.36.3"}`), 0o600))
	start(t, o)
	require.Equal(t, "1.36.3", inventory(t, store).ControlPlaneVersion)
	r := upgrade(t, store, toTheNext)
	require.Equal(t, api.OutcomeSucceeded, r.Outcome, r.Message)
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	require.NoError(t, err)
	require.Equal(t, "all for berlin\n", string(said))
}

func TestDriversThatCannotBe(t *testing.T) {
	server := bustest.Start(t)
	for want, change := range map[string]func(*Options){
		"needs the agent's own program":    func(o *Options) { o.Supervisor = "" },
		`"/nowhere/upgrade" cannot be run`: func(o *Options) { o.Config.Upgrade.Exec.Command = []string{"/nowhere/upgrade"} },
	} {
		o := options(t, server, "berlin")
		o.Supervisor = os.Args[0]
		o.Config.Upgrade.Driver, o.Config.Upgrade.Exec.Command = configs.DriverExec, []string{"/bin/true"}
		change(&o)
		a, err := New(o)
		require.NoError(t, err)
		require.ErrorContains(t, a.Start(t.Context()), want)
		require.NoError(t, a.Stop())
	}
}

// What Cluster API is asked by needs a cluster, and a way to it that can be read.
func TestClusterAPINeedsAClusterAndAWayToIt(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	for want, change := range map[string]func(*Options){
		`upgrade.driver: found "clusterapi", expected another, because the member is not a Kubernetes cluster`: func(*Options) {},
		`upgrade.driver: clusterAPI.kubeconfig: reading kubeconfig /nowhere/management`: func(o *Options) {
			unreachable(t, o)
			o.Config.ClusterAPI.Kubeconfig = "/nowhere/management"
		},
	} {
		o := options(t, server, "berlin")
		change(&o)
		o.Config.Upgrade.Driver = configs.DriverClusterAPI
		a, err := New(o)
		require.NoError(t, err)
		require.ErrorContains(t, a.Start(t.Context()), want)
		require.NoError(t, a.Stop())
	}
}

// A management cluster that does not answer keeps the agent from nothing else, and is named in its log.
func TestAManagementClusterThatDoesNotAnswerIsNamed(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	o := options(t, server, "berlin")
	unreachable(t, &o)
	o.Config.Upgrade.Driver = configs.DriverClusterAPI
	said := &lines{}
	o.Log = zerolog.New(said)
	start(t, o)
	expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Member == "berlin" })
	bustest.Eventually(t, func() error {
		if text := said.String(); !strings.Contains(text, "the member is not upgraded before this is mended") || !strings.Contains(text, "get clusters at https://127.0.0.1:1") {
			return fmt.Errorf("the log says %s", text)
		}
		return nil
	})
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
