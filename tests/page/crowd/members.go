package crowd

import (
	"encoding/json"
	"maps"

	"flotilla/core/api"
)

// markup is what nobody may run who shows it.
const markup = `<script>alert("crowd")</script><img src=x onerror=alert(1)>'"&amp;`

// labels are those that the MemberCluster of a member has. The region of one member is told by its inventory alone, see
// strangeRegion.
func (m *member) labels() map[string]string {
	all := map[string]string{
		"env": m.env, "tier": m.tier, "team": m.team, "topology.kubernetes.io/region": m.region, "topology.kubernetes.io/zone": m.zone,
	}
	for key, value := range map[string]string{"wave": m.wave, "ring": m.ring} {
		if value != "" {
			all[key] = value
		}
	}
	if m.strange() {
		delete(all, "topology.kubernetes.io/region")
	}
	return all
}

// strangeRegion is where a member is whose region nobody bounds.
const strangeRegion = `nowhere <b onclick="alert(1)">bold</b>`

// strange says that the member is the one at strangeRegion.
func (m *member) strange() bool { return m.part == partFrozen }

// document is the MemberCluster of a member.
func (m *member) document() json.RawMessage {
	metadata := map[string]any{"name": m.name, "labels": m.labels()}
	if m.number%97 == 0 {
		metadata["annotations"] = map[string]string{"crowd.example.com/note": markup}
	}
	return encode(map[string]any{"apiVersion": api.GroupCluster + "/v1", "kind": api.KindMemberCluster, "metadata": metadata})
}

// properties are what the agent of a member observes.
func (m *member) properties(nodes int) map[string]string {
	resource := func(what string) string { return api.PropertyResourcePrefix + what }
	cores := int64(4 * nodes)
	all := map[string]string{
		api.PropertyNodeCount: number(int64(nodes)), api.PropertyCPUCost: "0.0" + number(int64(30+m.number%40)), api.PropertyMemoryCost: "0.005",
	}
	maps.Copy(all, map[string]string{
		resource("total-cpu"): number(cores), resource("allocatable-cpu"): number(cores), resource("available-cpu"): number(cores * int64(10+m.number%80) / 100),
		resource("total-memory"): number(4*cores) + "Gi", resource("allocatable-memory"): number(4*cores) + "Gi",
		resource("available-memory"): number(4*cores*int64(10+m.number%70)/100) + "Gi",
	})
	if m.number%89 == 0 {
		all["crowd.example.com/owner"] = markup
	}
	return all
}

// inventory is what the agent of a member says of it at a version.
func (m *member) inventory(version string) api.MemberInventory {
	region := m.region
	if m.strange() {
		region = strangeRegion
	}
	pool := func(name, mode string) api.NodePoolFacts {
		return api.NodePoolFacts{
			Name: name, Mode: mode, OSType: "Linux", OSSKU: "Ubuntu", ImageFamily: "AKSUbuntu-2204gen2containerd",
			NodeImageVersion: "AKSUbuntu-2204gen2containerd-202401.09.0", KubernetesVersion: version,
		}
	}
	return api.MemberInventory{
		Header: api.NewHeader(api.KindInventory), Member: m.name, ClusterResourceID: "cluster-" + m.name, Region: region,
		ControlPlaneVersion: version, NodePools: []api.NodePoolFacts{pool("system", "System"), pool("workers", "User")},
	}
}
