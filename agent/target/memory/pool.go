package memory

import (
	"context"
	"slices"

	"flotilla/agent/target"
	"flotilla/core/api"
)

// DefaultPool is the pool of nodes that name none, and DefaultImage what a pool is made from that was
// given no image.
const (
	DefaultPool  = "nodepool1"
	DefaultImage = "AKSUbuntu-2204gen2containerd-202401.09.0"
)

// Modes of node pools.
const (
	modeSystem = "System"
	modeUser   = "User"
)

// addPool adds a pool, with what a pool has that says nothing else: the member's version, DefaultImage,
// Linux; the first pool is the system's.
func (m *Member) addPool(p api.NodePoolFacts) {
	if p.KubernetesVersion == "" {
		p.KubernetesVersion = m.version
	}
	if p.NodeImageVersion == "" {
		p.NodeImageVersion = DefaultImage
	}
	if p.ImageFamily == "" {
		p.ImageFamily, _, _ = api.NodeImageFamily(p.NodeImageVersion)
	}
	if p.OSType == "" {
		p.OSType = "Linux"
	}
	if p.Mode == "" {
		p.Mode = modeUser
		if len(m.pools) == 0 {
			p.Mode = modeSystem
		}
	}
	m.pools = append(m.pools, p)
}

// pool finds a pool, nil when there is none.
func (m *Member) pool(name string) *api.NodePoolFacts {
	at := slices.IndexFunc(m.pools, func(p api.NodePoolFacts) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &m.pools[at]
}

// join makes a node one of its pool.
func (m *Member) join(n *target.Node) {
	if n.Pool == "" {
		n.Pool = DefaultPool
	}
	if m.pool(n.Pool) == nil {
		m.addPool(api.NodePoolFacts{Name: n.Pool})
	}
	p := m.pool(n.Pool)
	if n.Kubelet == "" {
		n.Kubelet = p.KubernetesVersion
	}
	if n.Image == "" {
		n.Image = p.NodeImageVersion
	}
}

// Inventory is what the member's provider knows of it: versions, pools, whether it is powered on, and
// which operation runs. It answers also while the API server does not.
func (m *Member) Inventory(context.Context) (api.MemberInventory, error) {
	m.mu.Lock()
	defer m.unlock()
	i := api.MemberInventory{
		ControlPlaneVersion: m.version, NodePools: slices.Clone(m.pools), CurrentOperation: m.faults.Busy,
	}
	if m.faults.Off {
		i.PowerState = api.PowerStopped
	}
	if u := m.upgrades.running; u != nil {
		i.CurrentOperation = u.Operation.ID
	}
	return i, nil
}
