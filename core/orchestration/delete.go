package orchestration

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// delete begins what persons ask for: deletions of nodes, and of pools with all their nodes (N17).
// Neither budgets nor a view that is too old hold them; only another holder of the member's lock does.
func (p *pass) delete() {
	p.out.Deletions = make(map[string]DeletionAnswer, len(p.in.Deletions))
	for _, d := range p.in.Deletions {
		p.out.Deletions[d.Node] = p.deleteNode(d)
	}
	if p.lockedOut() != "" {
		return
	}
	for _, pool := range p.state.Pools {
		if pool.Deleting {
			p.callOff(pool.Name)
			p.deletePool(pool.Name)
		}
	}
}

// callOff gives up what waits for new nodes of a pool that is being deleted: they would go at once.
func (p *pass) callOff(pool string) {
	for i := range p.out.Record.Disruptions {
		d := &p.out.Record.Disruptions[i]
		if d.Phase == api.PhaseLaunching && slices.ContainsFunc(d.Replacements, func(r api.NodeReplacement) bool { return r.Pool == pool }) {
			abandon(d, fmt.Sprintf("NodePool %s, which its replacements are of, is being deleted", pool))
			p.abort(d, p.in.Results[d.ID])
		}
	}
}

// lockedOut says who else holds the member, "" when nobody does.
func (p *pass) lockedOut() string {
	if lock := &p.in.Lock; lock.Owner != "" && !lock.Ours {
		return lock.Owner
	}
	return ""
}

// deleteNode returns the disruption that deletes a node, or why there is none.
func (p *pass) deleteNode(d Deletion) DeletionAnswer {
	for i := range p.out.Record.Disruptions {
		one := &p.out.Record.Disruptions[i]
		asked := d.Request != "" && one.Request == d.Request
		switch {
		case !slices.Contains(one.Nodes, d.Node) || !asked && !one.Running():
		case asked || one.Phase == api.PhaseDraining:
			return DeletionAnswer{Disruption: one.ID}
		default:
			return DeletionAnswer{Refused: fmt.Sprintf("node %s is being replaced by disruption %s: it goes once its replacement is ready, at the latest that is given up at %s", d.Node, one.ID, one.Deadline.UTC().Format("15:04:05Z"))}
		}
	}
	n, found := p.in.State.Cluster.Node(d.Node)
	switch {
	case !found:
		return DeletionAnswer{Refused: fmt.Sprintf("member %s has no node %s", p.in.Member, d.Node)}
	case !n.Managed:
		return DeletionAnswer{Refused: fmt.Sprintf("neither Flotilla nor Karpenter made node %s: it cannot be deleted from here", d.Node)}
	case p.lockedOut() != "":
		return DeletionAnswer{Refused: fmt.Sprintf("%s holds member %s", p.lockedOut(), p.in.Member)}
	}
	return DeletionAnswer{Disruption: p.force([]string{d.Node}, d.Request)}
}

// deletePool deletes the nodes of a pool that is being deleted.
func (p *pass) deletePool(pool string) {
	var nodes []string
	for _, name := range p.in.State.Cluster.Names() {
		n := p.in.State.Cluster.Nodes[name]
		if n.Pool == pool && n.State.Managed && !n.State.Deleting && !n.State.InstanceTerminating && !p.state.Busy[name] {
			nodes = append(nodes, name)
		}
	}
	if len(nodes) > 0 {
		p.force(nodes, "")
	}
}

// force begins a disruption that waits for nothing.
func (p *pass) force(nodes []string, request string) string {
	c := &disruption.Command{Method: api.MethodManual, Reason: api.ReasonDeleted, Nodes: nodes, Forceful: true}
	for _, name := range nodes {
		n := p.in.State.Cluster.Nodes[name]
		var pool *capacity.Pool
		if i := slices.IndexFunc(p.in.State.Pools, func(one *capacity.Pool) bool { return one.Name == n.Pool }); i >= 0 {
			pool = p.in.State.Pools[i]
		}
		c.Savings = c.Savings.Plus(disruption.PriceOf(n, pool))
	}
	return p.begin(c, request)
}
