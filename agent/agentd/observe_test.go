package agentd

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
)

const catalog = `
apiVersion: flotilla.io/v1alpha1
kind: InstanceCatalog
metadata: {name: mine}
spec: {types: [{name: standard-4, cpu: 4, memory: 16Gi, offerings: [{zone: east-1, capacityType: on-demand, price: "0.4"}]}]}
`

// Nodes without a price cost what the catalog says, a command says the rest, and what the configuration says wins.
func TestACatalogAndACommandSayProperties(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	o := options(t, server, "berlin")
	dir := t.TempDir()
	o.Config.Cost.Catalog = filepath.Join(dir, "catalog.yaml")
	require.NoError(t, os.WriteFile(o.Config.Cost.Catalog, []byte(catalog), 0o600))
	said := filepath.Join(dir, "said")
	require.NoError(t, os.WriteFile(said, []byte(`{"example.com/racks": "12", "example.com/site": "theirs"}`), 0o600))
	o.Config.Observe.Exec.Command = []string{"cat", said}
	o.Config.Observe.Interval = configs.Duration(time.Second)
	o.Config.Properties = map[string]string{"example.com/site": "ours"}
	o.Config.Target.Memory.Nodes = []configs.Nodes{{Name: "n", InstanceType: "standard-4", CPU: "4", Memory: "16Gi"}}
	start(t, o)
	h := expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Properties["example.com/racks"] == "12" })
	require.Equal(t, "0.100", h.Properties[api.PropertyCPUCost])
	require.Equal(t, "0.025", h.Properties[api.PropertyMemoryCost])
	require.Equal(t, "ours", h.Properties["example.com/site"])

	require.NoError(t, os.WriteFile(said, []byte(`12`), 0o600))
	h = expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Message != "" })
	require.Contains(t, h.Message, "observe.exec: cat printed what cannot be read")
	require.Equal(t, "12", h.Properties["example.com/racks"], "it stays what it was")
	require.True(t, h.Healthy)
}

func TestACatalogThatCannotBeReadIsSaid(t *testing.T) {
	server := bustest.Start(t)
	for text, want := range map[string]string{"": "found 0 documents", "a: [": "catalog.yaml"} {
		o := options(t, server, "berlin")
		o.Config.Cost.Catalog = filepath.Join(t.TempDir(), "catalog.yaml")
		require.NoError(t, os.WriteFile(o.Config.Cost.Catalog, []byte(text), 0o600))
		a, err := New(o)
		require.NoError(t, err)
		err = a.Start(bustest.Context(t))
		require.ErrorContains(t, err, "cost.catalog: ")
		require.ErrorContains(t, err, want)
	}
}
