package upgrader

import (
	"context"
	"fmt"
	"slices"
	"time"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/version"
)

// Checks are what a member must be like before and after an upgrade.
type Checks struct {
	// NodesReady is how many percent of the nodes must be ready, 90 when 0.
	NodesReady int
	// Settle is how long after an upgrade a member may take to pass, 2 min when 0.
	Settle time.Duration
}

const (
	defaultNodesReady = 90
	defaultSettle     = 2 * time.Minute
	// checkTimeout bounds one look at the member.
	checkTimeout = 30 * time.Second
	// maxNames bounds the names in one finding.
	maxNames = 5
)

func (c *Checks) fill() {
	if c.NodesReady <= 0 {
		c.NodesReady = defaultNodesReady
	}
	if c.Settle <= 0 {
		c.Settle = defaultSettle
	}
}

// preflight lists what speaks against an operation: kubelets that would be too far from the wanted
// control plane, and what after lists too.
func (c *Checks) preflight(ctx context.Context, m Member, op *api.UpgradeOperation) []string {
	return c.look(ctx, m, op, op.ControlPlaneVersion)
}

// after lists what is wrong with a member after an operation.
func (c *Checks) after(ctx context.Context, m Member, op *api.UpgradeOperation, now *api.MemberInventory) []string {
	return c.look(ctx, m, op, now.ControlPlaneVersion)
}

// look asks the API server whether it is ready, then for nodes, and, where nodes are made anew, for
// budgets that would hold that up. Control is the version that kubelets are compared with, empty for
// the one the API server has.
func (c *Checks) look(ctx context.Context, m Member, op *api.UpgradeOperation, control string) []string {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := m.Ready(ctx); err != nil {
		return []string{fmt.Sprintf("the API server is not ready: %s", err)}
	}
	live, err := m.Version(ctx)
	if err != nil {
		return []string{fmt.Sprintf("the version of the API server cannot be read: %s", err)}
	}
	if control == "" {
		control = live
	}
	nodes, err := m.Nodes(ctx)
	if err != nil {
		return []string{fmt.Sprintf("the nodes cannot be read: %s", err)}
	}
	found := append(c.readiness(nodes), skew(nodes, live, control)...)
	if len(op.NodePools) == 0 {
		return found
	}
	budgets, err := m.Budgets(ctx)
	if err != nil {
		return append(found, fmt.Sprintf("the pod disruption budgets cannot be read: %s", err))
	}
	return append(found, blocking(budgets)...)
}

func (c *Checks) readiness(nodes []target.Node) []string {
	var not []string
	for i := range nodes {
		if nodes[i].NotReady {
			not = append(not, nodes[i].Name)
		}
	}
	ready := len(nodes) - len(not)
	if len(not) == 0 || 100*ready >= c.NodesReady*len(nodes) {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d nodes are ready, %d %% are required; not ready: %s", ready, len(nodes), c.NodesReady, phrase.Names(slices.Sorted(slices.Values(not)), maxNames))}
}

// skew lists kubelets that are newer than the API server, or that would be too old for control.
func skew(nodes []target.Node, live, control string) []string {
	server, known := version.Parse(plain(live))
	aim, clear := version.Parse(plain(control))
	var newer, older []string
	for i := range nodes {
		kubelet, ok := version.Parse(plain(nodes[i].Kubelet))
		text := nodes[i].Name + " at " + kubelet.String()
		if ok && known && (kubelet.Major != server.Major || kubelet.Minor > server.Minor) {
			newer = append(newer, text)
		}
		if ok && clear && !version.SkewHolds(aim, kubelet) {
			older = append(older, text)
		}
	}
	var found []string
	if len(newer) > 0 {
		found = append(found, fmt.Sprintf("kubelets are newer than API server %s: %s", server, phrase.Names(slices.Sorted(slices.Values(newer)), maxNames)))
	}
	if len(older) > 0 {
		found = append(found, fmt.Sprintf("kubelets are more than %d minors older than control plane %s: %s; upgrade their node pools first",
			version.MaxSkew, aim, phrase.Names(slices.Sorted(slices.Values(older)), maxNames)))
	}
	return found
}

// blocking names the budgets that cover pods and allow none of them to be disrupted.
func blocking(budgets []target.Budget) []string {
	var found []string
	for _, b := range budgets {
		if b.Expected > 0 && b.Allowed == 0 {
			found = append(found, b.String())
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []string{"pod disruption budgets would hold up the nodes: " + phrase.Names(slices.Sorted(slices.Values(found)), maxNames)}
}
