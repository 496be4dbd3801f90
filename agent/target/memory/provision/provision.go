// Package provision plans what the provider of a member in memory does for an upgrade.
package provision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/version"
)

// Pace is how long the member's provider takes.
type Pace struct {
	ControlPlane time.Duration
	// NodePool is for one pool; its nodes are made anew one after another, in equal parts of it.
	NodePool time.Duration
	// Images are the newest that the provider offers, by full name, one of each family.
	Images []string
}

// Step is one change of the member, due so long after the beginning: its control plane moves to
// Version, or a node, if any, is made anew as Pool is. The last step of a pool moves the pool.
type Step struct {
	Due     time.Duration      `json:"due"`
	Kind    string             `json:"kind"` // controlPlane or the pool
	Text    string             `json:"text"`
	Version string             `json:"version,omitempty"`
	Pool    *api.NodePoolFacts `json:"pool,omitempty"`
	Node    string             `json:"node,omitempty"`
	Last    bool               `json:"last,omitempty"`
}

// ControlPlane is the kind of the step that moves it.
const ControlPlane = "controlPlane"

// Member is what there is to upgrade.
type Member struct {
	Version string
	Pools   []api.NodePoolFacts
	// Nodes are the names of the nodes of a pool.
	Nodes func(pool string) []string
}

// Plan lists the steps of an operation, or says why a provider would refuse it.
func (m *Member) Plan(op *api.UpgradeOperation, pace Pace) ([]Step, error) {
	var steps []Step
	live, _ := version.Parse(m.Version)
	control := live
	due := time.Duration(0)
	if op.ControlPlaneVersion != "" {
		var ok bool
		if control, ok = version.Parse(op.ControlPlaneVersion); !ok {
			return nil, fmt.Errorf("control plane version %q is no version", op.ControlPlaneVersion)
		}
	}
	switch move := live.MoveTo(control); move {
	case version.MoveAllowed:
		due += pace.ControlPlane
		steps = append(steps, Step{
			Due: due, Kind: ControlPlane, Text: fmt.Sprintf("control plane %s to %s", live, control), Version: "v" + control.String(),
		})
	case version.MoveAtTarget:
	default:
		return nil, fmt.Errorf("a control plane at %s cannot be moved to %s: %s", live, control, move)
	}
	for i := range op.NodePools {
		wanted, err := m.moved(&op.NodePools[i], control, pace.Images)
		if err != nil {
			return nil, err
		}
		steps = append(steps, m.poolSteps(wanted, due, pace.NodePool)...)
		due += pace.NodePool
	}
	return steps, nil
}

// moved is a pool as a move leaves it.
func (m *Member) moved(move *api.PoolUpgrade, control version.Version, images []string) (*api.NodePoolFacts, error) {
	at := slices.IndexFunc(m.Pools, func(p api.NodePoolFacts) bool { return p.Name == move.Pool })
	if at < 0 {
		return nil, fmt.Errorf("there is no node pool %q; the member has %s", move.Pool, strings.Join(m.poolNames(), ", "))
	}
	pool, wanted := &m.Pools[at], m.Pools[at]
	if move.ToVersion != "" {
		v, ok := version.Parse(move.ToVersion)
		if !ok || v.Compare(control) > 0 {
			return nil, fmt.Errorf("node pool %s cannot be moved to %q: its kubelets would be newer than control plane %s", move.Pool, move.ToVersion, control)
		}
		wanted.KubernetesVersion = "v" + v.String()
	}
	if image := imageFor(move, pool, images); image != "" {
		wanted.NodeImageVersion = image
		wanted.ImageFamily, _, _ = api.NodeImageFamily(image)
	}
	wanted.FromSnapshot = pool.FromSnapshot && !move.DropSnapshot
	return &wanted, nil
}

// imageFor is the image that a move brings a pool to, empty when it leaves it.
func imageFor(move *api.PoolUpgrade, pool *api.NodePoolFacts, offered []string) string {
	if !move.Newest {
		return move.To
	}
	for _, image := range offered {
		if version.CompareImages(image, pool.NodeImageVersion) == version.ImageNewer {
			return image
		}
	}
	return ""
}

func (m *Member) poolNames() []string {
	names := make([]string, len(m.Pools))
	for i := range m.Pools {
		names[i] = m.Pools[i].Name
	}
	return names
}

// poolSteps makes the nodes of a pool anew, one after another. The pool is at the new state when the
// last one is.
func (m *Member) poolSteps(wanted *api.NodePoolFacts, due, takes time.Duration) []Step {
	names := m.Nodes(wanted.Name)
	if len(names) == 0 {
		return []Step{{
			Due: due + takes, Kind: wanted.Name, Text: "node pool " + wanted.Name + ", which has no nodes", Pool: wanted, Last: true,
		}}
	}
	steps := make([]Step, len(names))
	for i, name := range names {
		steps[i] = Step{
			Due: due + takes*time.Duration(i+1)/time.Duration(len(names)), Kind: wanted.Name,
			Text: fmt.Sprintf("node pool %s, node %d of %d", wanted.Name, i+1, len(names)), Pool: wanted, Node: name, Last: i == len(names)-1,
		}
	}
	return steps
}
