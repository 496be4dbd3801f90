package upgrader

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/agent/target"
	"flotilla/agent/upgrader/memory"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

func TestInventoryFollowsTheMember(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	window := &api.MaintenanceConfiguration{AutoUpgrade: &api.MaintenanceWindow{DurationHours: 4, StartTime: "02:00"}}
	h.start(m, t.TempDir(), func(o *Options) {
		o.Facts.ClusterResourceID, o.Facts.LongTermSupport, o.Facts.Maintenance = "/clusters/berlin", true, window
	})
	i := h.expectInventory(func(i api.MemberInventory) bool { return len(i.NodePools) == 2 })
	require.Equal(t, "/clusters/berlin", i.ClusterResourceID)
	require.True(t, i.LongTermSupport)
	require.Equal(t, window, i.Maintenance)
	require.Empty(t, i.PowerState)
	require.WithinDuration(t, elsewhen.Now(), i.Observed.Time, time.Minute)

	m.AddNode(target.Node{Name: "c1", Pool: "np3"})
	h.expectInventory(func(i api.MemberInventory) bool { return len(i.NodePools) == 3 })
	setFaults(t, m, "busy=by-hand")
	h.expectInventory(func(i api.MemberInventory) bool { return i.CurrentOperation == "by-hand" })
	setFaults(t, m, "off")
	i = h.expectInventory(func(i api.MemberInventory) bool { return i.PowerState == api.PowerStopped })
	require.Equal(t, "1.36.3", i.ControlPlaneVersion)
	require.Len(t, i.NodePools, 3)
}

// What is the same is not told again, except when the connection comes up.
func TestInventoryIsToldWhenItChanged(t *testing.T) {
	t.Parallel()
	h, m, data := newHub(t), newMember(t), t.TempDir()
	a := h.start(m, data)
	h.expectInventory(func(api.MemberInventory) bool { return true })
	first, err := h.told()
	require.NoError(t, err)
	setFaults(t, m)
	require.NoError(t, a.u.inventory.publish(t.Context(), false))
	now, err := h.told()
	require.NoError(t, err)
	require.Equal(t, first.Sequence, now.Sequence)
	a.stop()
	h.start(m, data)
	h.expectInventory(func(api.MemberInventory) bool {
		now, err := h.told()
		return err == nil && now.Sequence > first.Sequence
	})
}

// mute is a driver that knows nothing, so that the API server is asked.
type mute struct {
	*memory.Driver
	err error
}

func (d *mute) Inventory(context.Context) (api.MemberInventory, error) {
	return api.MemberInventory{}, d.err
}

func TestInventoryOfTheAPIServer(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	m.AddNode(target.Node{Name: "a0", Pool: "np1", Kubelet: "v1.35.9+k3s1", Image: "other"})
	driver := &mute{}
	a := h.start(m, t.TempDir(), func(o *Options) { driver.Driver = o.Driver.(*memory.Driver); o.Driver = driver })
	want := []api.NodePoolFacts{
		{Name: "np1", KubernetesVersion: "1.35.9"},
		{Name: "np2", KubernetesVersion: "1.36.3", NodeImageVersion: "AKSAzureLinux-V2gen2-202502.26.0", ImageFamily: "AKSAzureLinux-V2gen2"},
	}
	i := h.expectInventory(func(api.MemberInventory) bool { return true })
	require.Equal(t, want, i.NodePools)
	require.Equal(t, "1.36.3", i.ControlPlaneVersion)

	setFaults(t, m, "down")
	i, err := a.u.inventory.look(t.Context())
	require.ErrorContains(t, err, "does not answer")
	require.Equal(t, want, i.NodePools, "what cannot be read stays as it was last seen")
	require.Equal(t, "1.36.3", i.ControlPlaneVersion)
	require.Equal(t, "berlin-00000004", i.ClusterResourceID)
	setFaults(t, m)
	m.AddNode(target.Node{Name: "d0", Pool: "np4"})
	driver.err = errors.New("the provider is away")
	i, err = a.u.inventory.look(t.Context())
	require.ErrorContains(t, err, "the provider is away")
	require.Equal(t, want, i.NodePools, "what the API server says is no answer of the provider")
}

// Half of what there is to know of a member would be taken for another cluster.
func TestHalfAnInventoryIsNotTold(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	setFaults(t, m, "down")
	a := h.start(m, t.TempDir())
	require.ErrorContains(t, a.u.inventory.publish(t.Context(), true), "reading the member: ")
	_, err := h.inventory()
	require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
	setFaults(t, m)
	require.Equal(t, "berlin-00000004", h.expectInventory(func(api.MemberInventory) bool { return true }).ClusterResourceID)
}

func TestVersionsOfDistributions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"v1.36.3": "1.36.3", "1.36.3": "1.36.3", "v1.36.3+k3s1": "1.36.3", "v1.36.3-gke.100": "1.36.3", "": ""} {
		require.Equal(t, want, plain(version))
	}
	require.True(t, reaches("v1.36.3+k3s1", "1.36.3"))
	require.True(t, reaches("1.10.0", "1.9.9"))
	require.False(t, reaches("1.36.2", "1.36.3"))
	require.False(t, reaches("", "1.36.3"))
	require.True(t, reaches("", ""))
}

func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	now := api.MemberInventory{ControlPlaneVersion: "1.37.2", NodePools: []api.NodePoolFacts{{Name: "np1", KubernetesVersion: "1.36.3", NodeImageVersion: "f-202401.09.0"}}}
	for name, c := range map[string]struct {
		op   api.UpgradeOperation
		want []string
	}{
		"ahead":          {api.UpgradeOperation{ControlPlaneVersion: "1.37.1"}, nil},
		"pool ahead":     {api.UpgradeOperation{NodePools: []api.PoolUpgrade{{Pool: "np1", ToVersion: "1.36.1", To: "f-202401.03.0"}}}, nil},
		"behind":         {api.UpgradeOperation{ControlPlaneVersion: "1.38.0"}, []string{"the control plane is at 1.37.2, not 1.38.0"}},
		"pool behind":    {api.UpgradeOperation{NodePools: []api.PoolUpgrade{{Pool: "np1", ToVersion: "1.37.1"}}}, []string{"node pool np1 is at 1.36.3, not 1.37.1"}},
		"older image":    {api.UpgradeOperation{NodePools: []api.PoolUpgrade{{Pool: "np1", To: "f-202401.17.0"}}}, []string{"node pool np1 has image f-202401.09.0, not f-202401.17.0"}},
		"another family": {api.UpgradeOperation{NodePools: []api.PoolUpgrade{{Pool: "np1", To: "g-202401.03.0"}}}, []string{"node pool np1 has image f-202401.09.0, not g-202401.03.0"}},
		"gone":           {api.UpgradeOperation{NodePools: []api.PoolUpgrade{{Pool: "np2", ToVersion: "1.36.3"}}}, []string{"there is no node pool np2"}},
		"newest":         {api.UpgradeOperation{NodePools: []api.PoolUpgrade{{Pool: "np1", Newest: true}}}, []string{"node pool np1 is to have the newest image"}},
	} {
		require.Equal(t, c.want, missing(&c.op, &now), name)
	}
}

func TestLedgerForgetsTheOldestAndNothingElse(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	dir := filepath.Join(data, "upgrades")
	l, err := openLedger(dir, "berlin")
	require.NoError(t, err)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	running := record{Operation: *full(0), Accepted: at.Add(-time.Hour), Started: at}
	require.NoError(t, l.save(running))
	for i := range keepRecords + 2 {
		op := full(i + 1)
		require.NoError(t, l.save(record{Operation: *op, Accepted: at.Add(time.Duration(i) * time.Second), Started: at, Result: &api.UpgradeResult{Operation: op.ID}}))
	}
	write(t, filepath.Join(dir, operationsFolder), disk.Temporary+"1", "half a rec")
	again, err := openLedger(dir, "berlin")
	require.NoError(t, err)
	require.Len(t, again.records, keepRecords+1)
	require.NotContains(t, again.records, "u1/berlin/1")
	require.NotContains(t, again.records, "u1/berlin/2")
	found, ok := again.started()
	require.True(t, ok)
	require.Equal(t, running.Operation, found.Operation)
	files, err := os.ReadDir(filepath.Join(dir, operationsFolder))
	require.NoError(t, err)
	require.Len(t, files, keepRecords+1)

	write(t, filepath.Join(dir, operationsFolder), "broken.json", "{")
	_, err = openLedger(dir, "berlin")
	require.ErrorContains(t, err, "broken.json")
	_, err = New(Options{Member: "berlin", Data: data})
	require.ErrorContains(t, err, "only when no upgrade of member berlin runs")
}
