package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
)

// ExpiresAt is when a node is older than its expireAfter; false when it never is.
func ExpiresAt(s *api.NodeState, p *capacity.Pool) (time.Time, bool) {
	text := s.ExpireAfter
	if text == "" && p != nil {
		text = p.Spec.Spec.ExpireAfter()
	}
	after, never := capacity.NeverOr(cmp.Or(text, api.Never))
	if never || !s.Managed {
		return time.Time{}, false
	}
	return s.Created.Add(after), true
}

// expiration replaces nodes that outlived expireAfter, oldest first. It is voluntary: budgets and
// do-not-disrupt hold it, and replacements come first; the pool's annotation makes it forceful (N2).
func (d *deciding) expiration(reason string) []Command {
	if forced := d.forceful(reason); len(forced) > 0 {
		return forced
	}
	if !d.anyExpired() {
		d.out.Stages = d.out.Stages[:len(d.out.Stages)-1]
		return nil
	}
	cs := d.candidates(MethodExpired, func(c *candidate) Refusal {
		if at, ok := ExpiresAt(c.State, c.Pool); !ok || at.After(d.now) {
			return Refusal{Code: CodeNotExpired, Message: expiryText(at, ok, d.now)}
		}
		return Refusal{}
	})
	d.out.Eligible[MethodExpired] = names(cs)
	left := d.allowances(reason)
	slices.SortFunc(cs, func(a, b *candidate) int {
		return cmp.Or(a.State.Created.Compare(b.State.Created.Time), cmp.Compare(a.name(), b.name()))
	})
	return d.oneByOne(MethodExpired, reason, cs, left)
}

func expiryText(at time.Time, ok bool, now time.Time) string {
	if !ok {
		return "the node never expires"
	}
	return fmt.Sprintf("the node expires in %s", at.Sub(now).Round(time.Second))
}

func (d *deciding) anyExpired() bool {
	return slices.ContainsFunc(d.x.Nodes, func(n *simulate.ExistingNode) bool {
		at, ok := ExpiresAt(n.State, n.Pool)
		return ok && !at.After(d.now)
	})
}

// forceful expires nodes of pools that ask for it, whatever runs on them and whatever budgets say.
func (d *deciding) forceful(reason string) []Command {
	var out []*departure
	for i := range d.roster.all {
		c := &d.roster.all[i]
		if c.Pool == nil || !c.Pool.Forceful || c.Deleting || !c.State.Managed {
			continue
		}
		if at, ok := ExpiresAt(c.State, c.Pool); ok && !at.After(d.now) {
			command := &Command{Method: MethodExpired, Reason: reason, Nodes: []string{c.name()}, Forceful: true, Savings: c.worth()}
			out = append(out, &departure{command: command, nodes: []*simulate.ExistingNode{c.ExistingNode}})
		}
	}
	return d.foreseeAll(out)
}
