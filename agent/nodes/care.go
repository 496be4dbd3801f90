package nodes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/core/api"
)

// cares is what the command and the launches want of nodes.
type cares struct {
	commanded bool
	leaving   bool
	holders   map[string]*api.Disruption // by node
	launches  map[string]*launch         // by node
	discarded map[string]bool            // nodes of launches that are not wanted any more
	stamps    map[string]api.PoolStamp   // by pool
	claimed   map[string]bool            // nodes whose NodeClaims have Karpenter's hash
}

func (c *lifecycle) cares(l *look) *cares {
	command, commanded := c.ledger.wanted()
	out := &cares{
		commanded: commanded, leaving: commanded && command.Leaving,
		holders: map[string]*api.Disruption{}, launches: map[string]*launch{}, discarded: map[string]bool{},
		stamps: map[string]api.PoolStamp{}, claimed: l.claimed,
	}
	for _, stamp := range command.Stamps {
		out.stamps[stamp.Pool] = stamp
	}
	for i := range command.Disruptions {
		d := &command.Disruptions[i]
		if !d.Running() {
			continue
		}
		for _, name := range d.Nodes {
			out.holders[name] = d
		}
	}
	for _, one := range c.ledger.all() {
		n := l.made(&one)
		if n == nil {
			continue
		}
		out.launches[n.Name] = &one
		out.discarded[n.Name] = !c.ledger.wants(&one) && n.Labels[api.LabelInitialized] != "true"
	}
	return out
}

// of is what is wanted of one node.
func (s *cares) of(n *corev1.Node) care {
	out := care{commanded: s.commanded, leaving: s.leaving, launch: s.launches[n.Name], going: s.discarded[n.Name], stamps: s.stamps, claimed: s.claimed[n.Name]}
	if d := s.holders[n.Name]; d != nil && sameNode(d, n) && !s.leaving {
		out.id, out.going = d.ID, out.going || d.Phase == api.PhaseDraining
	}
	return out
}

// sameNode reports whether a node is the one that a disruption is about, and not another of its name.
func sameNode(d *api.Disruption, n *corev1.Node) bool {
	uid := d.UIDs[n.Name]
	return uid == "" || uid == string(n.UID)
}

// nodeCare is one node in one look at the member, with what is to become of it.
type nodeCare struct {
	look  *look
	node  *corev1.Node
	cares *cares
	care  care
}

// careFor looks at a node; nil when the member has none of that name.
func (c *lifecycle) careFor(ctx context.Context, name string) (*nodeCare, error) {
	l, err := c.look(ctx)
	if err != nil || l.nodes[name] == nil {
		return nil, err
	}
	s := &nodeCare{look: l, node: l.nodes[name], cares: c.cares(l)}
	s.care = s.cares.of(s.node)
	return s, nil
}

// node looks after one node: marks it, deletes it, empties it.
func (c *lifecycle) node(ctx context.Context, name string) (time.Time, error) {
	if name == everyNode {
		return c.sweep(ctx)
	}
	s, err := c.careFor(ctx, name)
	if err != nil || s == nil {
		return time.Time{}, err
	}
	if again := c.acts.again(s.node); c.o.Hub.Now().Before(again) {
		return again, nil
	}
	if !s.care.marked(s.node) {
		before := s.care
		if s, err = c.mark(ctx, s); err != nil || s == nil {
			return time.Time{}, err
		}
		if s.care.going && !s.care.goesAs(&before) {
			return c.o.Hub.Now(), nil // a command came meanwhile, for which the node is not marked yet
		}
	}
	switch {
	case s.care.going && s.node.DeletionTimestamp == nil:
		return c.dismiss(ctx, s)
	case s.node.DeletionTimestamp == nil || !ours(s.node):
		return time.Time{}, nil
	}
	defer c.wake(s.cares, s.node)
	return c.empty(ctx, s.look, s.node)
}

// mark writes on a node what is to become of it, and looks again: node and command may be others by now.
func (c *lifecycle) mark(ctx context.Context, s *nodeCare) (*nodeCare, error) {
	if err := c.o.Hub.Twin(); err != nil {
		return nil, err
	}
	if err := c.update(ctx, s.node, s.care.mark); err != nil {
		return nil, err
	}
	c.acts.on(s.node, c.o.Hub.Now())
	c.wake(s.cares, s.node)
	return c.careFor(ctx, s.node.Name)
}

// dismiss deletes a node that is to go, once a finalizer keeps it until it is empty.
func (c *lifecycle) dismiss(ctx context.Context, s *nodeCare) (time.Time, error) {
	if !ours(s.node) && !foreign(s.node, s.care.launch) {
		return c.o.Hub.Now().Add(lookAgain), nil
	}
	if err := c.o.Hub.Twin(); err != nil {
		return time.Time{}, err
	}
	err := c.delete(ctx, s.node, s.care.id)
	if err == nil {
		c.acts.on(s.node, c.o.Hub.Now())
	}
	return c.o.Hub.Now(), err
}

// wake has those look that wait for a node.
func (c *lifecycle) wake(s *cares, n *corev1.Node) {
	if d := s.holders[n.Name]; d != nil {
		c.disruptions.Add(d.ID)
	}
	if by := s.launches[n.Name]; by != nil {
		c.machines.Add(launchKey + by.Launch.Name)
	}
}

// update changes a node, unless it became another one.
func (c *lifecycle) update(ctx context.Context, n *corev1.Node, change func(*corev1.Node)) error {
	err := c.call(ctx, func(ctx context.Context) error {
		return c.o.Target.UpdateNode(ctx, n.Name, func(newest *corev1.Node) {
			if newest.UID == n.UID {
				change(newest)
			}
		})
	})
	c.looker.spoil()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("changing node %s: %w", n.Name, err)
	}
	return nil
}

// delete begins the end of a node. From here on it is emptied whatever the hub says: its deletionTimestamp
// is the memory of that.
func (c *lifecycle) delete(ctx context.Context, n *corev1.Node, id string) error {
	c.o.Log.Info().Str("node", n.Name).Str("disruption", id).Msg("the node is being deleted")
	err := c.call(ctx, func(ctx context.Context) error { return c.o.Target.DeleteNode(ctx, n.Name, string(n.UID)) })
	c.looker.spoil()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting node %s: %w", n.Name, err)
	}
	return nil
}

// call bounds one call to the member.
func (c *lifecycle) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return f(ctx)
}
