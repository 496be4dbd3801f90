package subjects

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write SUBJECTS.md")

var fleet = Fleet{Name: "north"}

func TestDocumentIsCurrent(t *testing.T) {
	want := Document(Fleet{Name: "<fleet>"})
	if *update {
		require.NoError(t, os.WriteFile("SUBJECTS.md", []byte(want), 0o644))
	}
	found, err := os.ReadFile("SUBJECTS.md")
	require.NoError(t, err)
	require.Equal(t, want, string(found), "SUBJECTS.md is stale: run go generate ./subjects")
}

func TestEncode(t *testing.T) {
	for name, token := range map[string]string{
		"web":                     "web",
		"ns/web":                  "ns=2Fweb",
		"a.b":                     "a=2Eb",
		"a=b":                     "a=3Db",
		"":                        "=",
		"=":                       "=3D",
		"*":                       "=2A",
		">":                       "=3E",
		"é":                       "=C3=A9",
		"v1|ConfigMap|default|cm": "v1=7CConfigMap=7Cdefault=7Ccm",
	} {
		require.Equal(t, token, Encode(name))
		back, err := Decode(token)
		require.NoError(t, err)
		require.Equal(t, name, back)
	}
}

func TestDecodeRefusesWhatEncodeCannotMake(t *testing.T) {
	for _, token := range []string{"", "a=", "a=2", "=2f", "=41", "a.b", "a*", "==", "=zz"} {
		_, err := Decode(token)
		require.Error(t, err, token)
	}
}

func FuzzEncode(f *testing.F) {
	for _, seed := range []string{"", "web", "ns/web", "\x00\xff", "=", "=2F"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		token := Encode(name)
		require.NotEmpty(t, token)
		require.False(t, strings.ContainsAny(token, ".*> \t\r\n"), token)
		back, err := Decode(token)
		require.NoError(t, err)
		require.Equal(t, name, back)
	})
}

func TestFamilies(t *testing.T) {
	for _, c := range []struct {
		family           Family
		name, key, group string
	}{
		{PlacementSpecs, "web", "spec.placement.web", "web"},
		{PlacementSpecs, "ns/web", "spec.placement.ns=2Fweb", "ns/web"},
		{Schedules, "ns/web.v2", "schedule.ns=2Fweb=2Ev2", "ns/web.v2"},
		{RunSpecs, "k8s-1-30", "spec.run.k8s-1-30", "k8s-1-30"},
		{StrategySpecs, "rings", "spec.strategy.rings", "rings"},
		{ProfileSpecs, "stable", "spec.profile.stable", "stable"},
		{CatalogSpecs, "default", "spec.catalog.default", "default"},
		{MaintenanceSpecs, "berlin", "spec.maintenance.berlin", "berlin"},
		{PoolSpecs, "general", "spec.nodepool.general", "general"},
		{InstanceCatalogSpecs, "azure.west", "spec.instances.azure=2Ewest", "azure.west"},
		{Disruptions, "berlin", "disruption.berlin", "berlin"},
		{Pools, "general", "pool.general", "general"},
		{Snapshots, SnapshotName("web", 7), "snapshot.web.7", "web"},
		{Snapshots, SnapshotName("ns/web.v2", 12), "snapshot.ns=2Fweb=2Ev2.12", "ns/web.v2"},
		{ObjectSpecs, "apps|Deployment|ns|web", "spec.object.apps=7CDeployment=7Cns=7Cweb", "apps|Deployment|ns|web"},
	} {
		require.Equal(t, c.key, c.family.Key(c.name))
		name, ok := c.family.Name(c.key)
		require.True(t, ok)
		require.Equal(t, c.name, name)
		require.Equal(t, c.group, c.family.Group(c.name))
	}
}

func TestFamiliesRefuseForeignKeys(t *testing.T) {
	for key, family := range map[string]Family{
		"spec.member.berlin": PlacementSpecs,
		"schedule.":          Schedules,
		"schedule.a.b":       Schedules,
		"snapshot.web":       Snapshots,
		"snapshot.web.07":    Snapshots,
		"snapshot.web.x":     Snapshots,
		"member.*":           Members,
		"spec.nodepool.a.b":  PoolSpecs,
		"disruption.":        Disruptions,
	} {
		_, ok := family.Name(key)
		require.False(t, ok, key)
	}
}

func TestResultKeys(t *testing.T) {
	require.Equal(t, "berlin.placement.ns=2Fweb", ResultKey("berlin", CommandPlacement, "ns/web"))
	member, kind, name, ok := ParseResultKey("berlin.placement.ns=2Fweb")
	require.True(t, ok)
	require.Equal(t, []string{"berlin", "placement", "ns/web"}, []string{member, kind, name})
	for _, key := range []string{"berlin.placement", "berlin.*.web", "berlin.placement.>", "*.placement.web", "berlin.placement.a.b"} {
		_, _, _, ok := ParseResultKey(key)
		require.False(t, ok, key)
	}
}

func TestSubjectsParseBack(t *testing.T) {
	member, kind, ok := fleet.ParseCommand(fleet.Command("berlin", CommandPlacement))
	require.True(t, ok)
	require.Equal(t, []string{"berlin", "placement"}, []string{member, kind})
	member, ok = fleet.ParseInventory(fleet.Inventory("berlin"))
	require.True(t, ok)
	require.Equal(t, "berlin", member)
	_, ok = fleet.ParseInventory(fleet.Inventory("*"))
	require.False(t, ok)
	_, ok = fleet.ParseInventory(fleet.NodeEvent("berlin", "inventory"))
	require.False(t, ok)
	_, _, ok = fleet.ParseHint(fleet.Hint("berlin", "upgrade"))
	require.True(t, ok)
	_, _, ok = fleet.ParseHint(fleet.Command("berlin", "upgrade"))
	require.False(t, ok)
	_, _, ok = Fleet{Name: "south"}.ParseCommand(fleet.Command("berlin", CommandPlacement))
	require.False(t, ok, "fleets do not mix")
	key, ok := fleet.BucketKey(State, fleet.BucketSubject(State, "term"))
	require.True(t, ok)
	require.Equal(t, "term", key)
	require.Equal(t, "flotilla.north.audit.placement.*", fleet.AuditFilter("placement", ""))
	require.Equal(t, fleet.AuditEvent("placement", "ns/web"), fleet.AuditFilter("placement", "ns/web"))
}

func TestNodeSubjectsParseBack(t *testing.T) {
	for node, subject := range map[string]string{
		"n17":                      "flotilla.north.event.berlin.node.n17",
		"ip-10-0-0-1.ec2.internal": "flotilla.north.event.berlin.node.ip-10-0-0-1=2Eec2=2Einternal",
		"node":                     "flotilla.north.event.berlin.node.node",
	} {
		require.Equal(t, subject, fleet.NodeEvent("berlin", node))
		member, back, ok := fleet.ParseNodeEvent(subject)
		require.True(t, ok)
		require.Equal(t, []string{"berlin", node}, []string{member, back})
	}
	require.Equal(t, "flotilla.north.event.*.node.*", fleet.AllNodeEvents("*"))
	for _, foreign := range []string{
		fleet.AllNodeEvents("berlin"), fleet.NodeEvent("*", "n1"), fleet.NodeEvent("berlin", ""), fleet.NodeEvent("berlin", "n1") + ".more",
		fleet.NodeEvent("berlin", "n1") + "=2e", fleet.NodeInventory("berlin"), fleet.Inventory("berlin"),
		Fleet{Name: "south"}.NodeEvent("berlin", "n1"), fleet.Prefix() + ".event.berlin.node",
	} {
		_, _, ok := fleet.ParseNodeEvent(foreign)
		require.False(t, ok, foreign)
	}
	require.Equal(t, "flotilla.north.event.berlin.nodes", fleet.NodeInventory("berlin"))
	member, ok := fleet.ParseNodeInventory(fleet.NodeInventory("berlin"))
	require.True(t, ok)
	require.Equal(t, "berlin", member)
	for _, foreign := range []string{fleet.NodeInventory("*"), fleet.Inventory("berlin"), fleet.NodeEvent("berlin", "nodes")} {
		_, ok := fleet.ParseNodeInventory(foreign)
		require.False(t, ok, foreign)
	}
	_, ok = fleet.ParseInventory(fleet.NodeInventory("berlin"))
	require.False(t, ok)
	require.Equal(t, "flotilla.north.audit.node.berlin=2Fn17", fleet.AuditEvent(KindNode, NodeName("berlin", "n17")))
}

func TestAgentPermissionsAreExact(t *testing.T) {
	require.Equal(t, Permissions{
		Publish: []string{
			"flotilla.north.enrol.berlin",
			"$KV.flotilla_north_heartbeat.berlin",
			"flotilla.north.event.berlin.node.*",
			"flotilla.north.event.berlin.nodes",
			"flotilla.north.event.berlin.inventory",
			"$KV.flotilla_north_result.berlin.0",
			"$KV.flotilla_north_result.berlin.1",
			"$KV.flotilla_north_result.berlin.2",
			"$KV.flotilla_north_result.berlin.3",
			"$KV.flotilla_north_result.berlin.4",
			"$KV.flotilla_north_result.berlin.5",
			"$KV.flotilla_north_result.berlin.6",
			"$KV.flotilla_north_result.berlin.7",
			"$KV.flotilla_north_result.berlin.8",
			"$KV.flotilla_north_result.berlin.9",
			"$KV.flotilla_north_result.berlin.10",
			"$KV.flotilla_north_result.berlin.11",
			"$KV.flotilla_north_result.berlin.12",
			"$KV.flotilla_north_result.berlin.13",
			"$KV.flotilla_north_result.berlin.14",
			"$KV.flotilla_north_result.berlin.15",
			"$JS.API.DIRECT.GET.FLOTILLA_north_COMMANDS.flotilla.north.command.berlin.>",
			"$JS.API.DIRECT.GET.KV_flotilla_north_content.$KV.flotilla_north_content.*",
			"$JS.API.DIRECT.GET.FLOTILLA_north_EVENTS.flotilla.north.event.berlin.>",
			"$JS.API.DIRECT.GET.KV_flotilla_north_result.$KV.flotilla_north_result.berlin.*",
		},
		Subscribe: []string{"_INBOX_berlin.>", "flotilla.north.hint.berlin.>"},
	}, fleet.AgentPermissions("berlin"))
}

func TestChangesOfAnIndexHaveSubjectsOfTheirOwn(t *testing.T) {
	require.Equal(t, "flotilla.north.command.berlin.placement.63", fleet.CommandDelta("berlin", CommandSlots-1))
	member, slot, ok := fleet.ParseCommandDelta(fleet.CommandDelta("berlin", 7))
	require.True(t, ok)
	require.Equal(t, "berlin", member)
	require.Equal(t, 7, slot)
	_, _, ok = fleet.ParseCommand(fleet.CommandDelta("berlin", 7))
	require.False(t, ok, "it is no whole command")
	member, kind, ok := fleet.ParseHint("flotilla.north.hint.berlin.placement.7")
	require.True(t, ok)
	require.Equal(t, []string{"berlin", CommandPlacement}, []string{member, kind}, "what announces a change announces the index")
	for _, foreign := range []string{"placement", "placement.64", "placement.-1", "placement.07", "placement.+7", "placement.x", "upgrade.7", "placement.7.7", ".7"} {
		_, _, ok := fleet.ParseCommandDelta(fleet.Command("berlin", foreign))
		require.False(t, ok, foreign)
	}
}

func TestResultSlots(t *testing.T) {
	require.Equal(t, "berlin.15", ResultSlotKey("berlin", 15))
	member, slot, ok := ParseResultSlotKey("berlin.15")
	require.True(t, ok)
	require.Equal(t, "berlin", member)
	require.Equal(t, 15, slot)
	for _, foreign := range []string{"berlin", "berlin.", "berlin.16", "berlin.-1", "berlin.01", "berlin.+1", ".1", "Berlin.1", "berlin.1.1", "berlin.*"} {
		_, _, ok := ParseResultSlotKey(foreign)
		require.False(t, ok, foreign)
	}
	used := map[int]int{}
	for i := range 1000 {
		used[ResultSlot(CommandPlacement, fmt.Sprintf("web-%d", i))]++
	}
	require.Len(t, used, ResultSlots)
	for slot, n := range used {
		require.Less(t, n, 3*1000/ResultSlots, "slot %d", slot)
	}
}

func TestCheckLabel(t *testing.T) {
	for _, good := range []string{"a", "berlin-2", "0", strings.Repeat("a", 63)} {
		require.NoError(t, CheckLabel("member", good))
	}
	for _, bad := range []string{"", "Berlin", "a.b", "-a", "a-", "*", strings.Repeat("a", 64)} {
		require.ErrorContains(t, CheckLabel("member", bad), "expected a DNS label", bad)
	}
}
