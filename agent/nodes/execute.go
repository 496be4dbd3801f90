package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// disruption takes the next step of one disruption, as far as it is not one of its nodes and machines,
// and reports how far it is.
func (c *lifecycle) disruption(ctx context.Context, id string) (time.Time, error) {
	d := c.ledger.disruption(id)
	if d == nil {
		c.results.forget(id)
		c.forgetTold(id)
		return time.Time{}, nil
	}
	l, err := c.look(ctx)
	if err != nil {
		return time.Time{}, err
	}
	command, _ := c.ledger.command()
	r := api.DisruptionResult{Header: api.NewHeader(api.KindDisruptionResult), Member: c.o.Member, ID: id, Order: command.Order, Phase: d.Phase}
	if r.Gone, err = c.gone(ctx, d, l); err != nil {
		return time.Time{}, err
	}
	var waiting []string
	switch d.Phase {
	case api.PhaseLaunching:
		waiting, err = c.launching(d, l, &r)
	case api.PhaseDraining:
		waiting = c.draining(d, l, &r)
	case api.PhaseAborted:
		waiting, err = c.aborting(d, l, &r)
	case api.PhaseDone:
	default:
		waiting = []string{fmt.Sprintf("the agent of %s does not know phase %q; update the agent", c.o.Member, d.Phase)}
	}
	if err != nil {
		waiting = append(waiting, err.Error())
	}
	r.Message = strings.Join(waiting, "; ")
	c.results.tell(r)
	if err != nil || len(waiting) == 0 {
		return time.Time{}, err
	}
	return c.o.Hub.Now().Add(lookAgain), nil
}

// gone are the nodes of a disruption that are no more, sorted. The hub was told of each.
func (c *lifecycle) gone(ctx context.Context, d *api.Disruption, l *look) ([]string, error) {
	var out []string
	for _, name := range d.Nodes {
		if n := l.nodes[name]; n != nil && sameNode(d, n) {
			continue
		}
		if !c.wasTold(d.ID, name) {
			if err := c.call(ctx, func(ctx context.Context) error { return c.tell(ctx, name) }); err != nil {
				return nil, fmt.Errorf("telling the end of node %s: %w", name, err)
			}
			c.setTold(d.ID, name)
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil
}

func (c *lifecycle) wasTold(id, node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told[id][node]
}

func (c *lifecycle) setTold(id, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told[id] == nil {
		c.told[id] = map[string]bool{}
	}
	c.told[id][node] = true
}

func (c *lifecycle) forgetTold(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.told, id)
}

// launching begins the launches once all nodes of the disruption are tainted, and says what is waited for.
// Of nodes that are all gone, such as in a command of a hub that came from a backup, none is replaced.
func (c *lifecycle) launching(d *api.Disruption, l *look, r *api.DisruptionResult) ([]string, error) {
	nodes := nodesOf(d, l)
	for _, n := range nodes {
		if !tainted(n) {
			c.nodes.Add(n.Name)
			return []string{fmt.Sprintf("node %s is being tainted", n.Name)}, nil
		}
	}
	if len(nodes) > 0 {
		if err := c.begin(d); err != nil {
			return nil, err
		}
	}
	var waiting []string
	for i := range d.Replacements {
		one, why := c.replacement(d, &d.Replacements[i], l)
		r.Replacements = append(r.Replacements, one)
		if why != "" {
			waiting = append(waiting, why)
		}
	}
	return waiting, nil
}

// draining says what the nodes of a disruption that go are waiting for.
func (c *lifecycle) draining(d *api.Disruption, l *look, r *api.DisruptionResult) []string {
	for i := range d.Replacements {
		one, _ := c.replacement(d, &d.Replacements[i], l)
		r.Replacements = append(r.Replacements, one)
	}
	var waiting []string
	for _, n := range nodesOf(d, l) {
		switch drain := c.drains.seen(n); {
		case n.DeletionTimestamp == nil:
			c.nodes.Add(n.Name)
			waiting = append(waiting, fmt.Sprintf("node %s is about to be deleted", n.Name))
		case !ours(n):
			waiting = append(waiting, fmt.Sprintf("node %s waits for those who put finalizers %s on it", n.Name, strings.Join(n.Finalizers, ", ")))
		case drain == nil:
			waiting = append(waiting, fmt.Sprintf("node %s is about to be emptied", n.Name))
		default:
			waiting = append(waiting, fmt.Sprintf("node %s waits for %s", n.Name, drain))
		}
	}
	if len(waiting) == 0 {
		r.Phase = api.PhaseDone
	}
	return waiting
}

// aborting says what is left to be undone of a disruption that was given up. A launch that has not
// brought about a node is not waited for: the ledger does not forget it.
func (c *lifecycle) aborting(d *api.Disruption, l *look, r *api.DisruptionResult) ([]string, error) {
	var waiting []string
	for _, n := range nodesOf(d, l) {
		if n.DeletionTimestamp == nil && n.Annotations[api.AnnotationDisruption] == d.ID {
			c.nodes.Add(n.Name)
			waiting = append(waiting, fmt.Sprintf("the taint of node %s is being taken off", n.Name))
		}
	}
	for _, n := range c.leftovers(d.ID, l) {
		if n.DeletionTimestamp == nil {
			c.nodes.Add(n.Name)
			waiting = append(waiting, fmt.Sprintf("node %s, which was launched, is about to be deleted", n.Name))
		}
	}
	err := c.recall(d, l)
	for _, one := range c.ledger.all() {
		if one.Disruption == d.ID {
			c.machines.Add(launchKey + one.Launch.Name)
		}
	}
	if err != nil || len(waiting) > 0 {
		r.Phase = api.PhaseLaunching
	}
	return waiting, err
}

// recall notes the launches of a disruption that was given up which are not remembered: an agent that
// lost its data directory may have begun them. They are taken back by their names, once.
func (c *lifecycle) recall(d *api.Disruption, l *look) error {
	for i := range d.Replacements {
		r := &d.Replacements[i]
		if _, begun := c.ledger.launch(r.Name); begun || r.Initialized || r.Name == "" || len(r.Name) > maxLaunch || c.wasTold(d.ID, launchKey+r.Name) {
			continue
		}
		one := launch{Disruption: d.ID, Begun: c.o.Hub.Now(), Launch: api.NodeLaunch{Name: r.Name, Member: c.o.Member, Pool: r.Pool}}
		if n := l.made(&one); n == nil || n.Labels[api.LabelInitialized] != "true" {
			if err := c.ledger.save(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodesOf are the nodes of a disruption that stand.
func nodesOf(d *api.Disruption, l *look) []*corev1.Node {
	var out []*corev1.Node
	for _, name := range d.Nodes {
		if n := l.nodes[name]; n != nil && sameNode(d, n) {
			out = append(out, n)
		}
	}
	return out
}

func tainted(n *corev1.Node) bool {
	return outgoing(n.Spec.Taints)
}
