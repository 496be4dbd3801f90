package disruption

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// lifting are the changes that could lift a refusal, those first that ask the least.
func (f *search) lifting(s *State, r *Refusal) []change {
	n := s.Cluster.nodes[f.node]
	p := s.pool(n.pool)
	switch r.Code {
	case CodeNodeProtected:
		return []change{{text: fmt.Sprintf("kubectl annotate node %s %s-", f.node, api.AnnotationDoNotDisrupt), apply: func(s *State) {
			s.editNode(f.node, func(n *api.NodeState) { delete(n.Annotations, api.AnnotationDoNotDisrupt) })
		}}}
	case CodePodProtected:
		return f.unprotect(s, r)
	case CodePDB, CodePDBOverlap, CodePDBExceeded:
		return f.allowEvictions(s, r)
	case CodeNominated:
		return []change{until(s.nominated(n.state), "")}
	case CodeBackoff:
		return []change{until(s.Backoffs[f.node], "")}
	case CodeStale:
		return []change{{text: "wait until decisions are made again: " + s.Stale, waits: true, apply: func(s *State) { s.Stale = "" }}}
	case CodePendingPodNeedsIt:
		return []change{without(r.About)}
	case CodeSpotDisabled:
		return []change{{text: "set disruption.spotToSpot to true in the configuration of the hub", apply: func(s *State) { s.Rules.SpotToSpot = true }}}
	}
	if p == nil {
		return nil
	}
	return f.liftingInPool(s, r, p)
}

// liftingInPool are the changes of a NodePool that could lift a refusal.
func (f *search) liftingInPool(s *State, r *Refusal, p *Pool) []change {
	edit := func(field, value, now string, set func(*Pool)) []change {
		text := fmt.Sprintf("set %s of NodePool %s to %s (it is %s)", field, p.name, value, now)
		return []change{{text: text, apply: func(s *State) { s.editPool(p.name, set) }}}
	}
	consolidate := func(p *Pool) { p.policy = api.WhenEmptyOrUnderutilized }
	switch r.Code {
	case CodePoolProtected:
		text := fmt.Sprintf("remove %s from spec.template.metadata.annotations of NodePool %s", api.AnnotationDoNotDisrupt, p.name)
		return []change{{text: text, apply: func(s *State) { s.editPool(p.name, func(p *Pool) { p.protected = false }) }}}
	case CodeDisabled:
		return edit("spec.disruption.consolidateAfter", api.DefaultConsolidateAfter, api.Never, func(p *Pool) { p.disabled, p.after = false, 0 })
	case CodeNotEmpty, CodeScore:
		if r.Method == MethodEmpty || p.policy == api.WhenEmptyOrUnderutilized {
			return nil
		}
		return edit("spec.disruption.consolidationPolicy", api.WhenEmptyOrUnderutilized, p.policy, consolidate)
	case CodeMinValues:
		text := "leave minValues out of the requirements of NodePool " + p.name
		return []change{{text: text, apply: func(s *State) { s.editPool(p.name, func(p *Pool) { p.minValues = nil }) }}}
	case CodeQuiet:
		quiet := quietSince(s.Cluster.nodes[f.node].state)
		short := max(0, s.Now.Sub(quiet)).Truncate(time.Second)
		return append([]change{until(quiet.Add(p.after), ", if no pod comes, ends or leaves before")},
			edit("spec.disruption.consolidateAfter", brief(short)+" or less", brief(p.after), func(p *Pool) { p.after = short })...)
	case CodeBudget:
		return f.raise(s, p, reasonOf(r.Method))
	}
	return nil
}

func (s *State) pool(name string) *Pool {
	i := slices.IndexFunc(s.Pools, func(p *Pool) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return s.Pools[i]
}

// without is that a pod which waits for a node waits no more.
func without(pending string) change {
	space, name, _ := strings.Cut(pending, "/")
	return change{text: fmt.Sprintf("kubectl delete pod -n %s %s, which waits for a node, or make room for it on another node", space, name), apply: func(s *State) {
		s.Cluster.pending = slices.DeleteFunc(slices.Clone(s.Cluster.pending), func(p *pod) bool { return p.key == pending })
	}}
}

// until is to wait.
func until(at time.Time, provided string) change {
	return change{text: "wait until " + at.UTC().Format(time.RFC3339) + provided, waits: true, apply: func(s *State) {
		if at.After(s.Now) {
			s.Now = at
		}
	}}
}

// unprotect takes the annotation off the pod that a refusal is about, or waits for its end.
func (f *search) unprotect(s *State, r *Refusal) []change {
	space, name, _ := strings.Cut(r.About, "/")
	out := []change{{text: fmt.Sprintf("kubectl annotate pod -n %s %s %s-", space, name, api.AnnotationDoNotDisrupt), apply: func(s *State) {
		s.editNode(f.node, func(n *api.NodeState) {
			for i := range n.Pods {
				if p := &n.Pods[i]; p.Namespace == space && p.Name == name {
					p.Annotations = withoutKey(p.Annotations, api.AnnotationDoNotDisrupt)
				}
			}
		})
	}}}
	for i := range s.Cluster.nodes[f.node].pods {
		if p := &s.Cluster.nodes[f.node].pods[i]; p.key == r.About {
			if _, end := p.protected(s.Now); !end.IsZero() {
				out = append(out, until(end, ""))
			}
		}
	}
	return out
}

func withoutKey(m map[string]string, key string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// allowEvictions makes the PodDisruptionBudget that a refusal is about let go of its pods on the node,
// or, when it is about a pod, takes the pod out of all budgets but one.
func (f *search) allowEvictions(s *State, r *Refusal) []change {
	cover := coverBudgets(s.Cluster.budgets)
	pods := s.Cluster.nodes[f.node].pods
	if i := slices.IndexFunc(pods, func(p pod) bool { return p.key == r.About }); i >= 0 {
		var names []string
		for _, b := range cover.of(&pods[i]) {
			names = append(names, b.name)
		}
		if len(names) > 1 {
			text := fmt.Sprintf("let only %s of the PodDisruptionBudgets %s cover pod %s", names[0], strings.Join(names, ", "), r.About)
			return []change{{text: text, apply: func(s *State) {
				s.Cluster.budgets = slices.DeleteFunc(s.Cluster.budgets, func(b podBudget) bool { return slices.Contains(names[1:], b.name) })
			}}}
		}
	}
	here, allowed := 0, 0
	for i := range pods {
		for _, b := range cover.of(&pods[i]) {
			if b.name == r.About && pods[i].evictable(s.Now) && b.holds(&pods[i]) {
				here, allowed = here+1, b.allowed
			}
		}
	}
	if here == 0 {
		return nil
	}
	text := fmt.Sprintf("let PodDisruptionBudget %s allow %s (it allows %d), by more healthy pods or a higher maxUnavailable", r.About, counted(here, "eviction"), allowed)
	return []change{{text: text, apply: func(s *State) { s.editBudget(r.About, func(b *podBudget) { b.allowed, b.full = here, false }) }}}
}

// settled is to wait until the nodes that are down for now are gone, or back.
func settled(down int) change {
	text := fmt.Sprintf("wait until the %d nodes that are down are gone or back", down)
	if down == 1 {
		text = "wait until the node that is down is gone or back"
	}
	return change{text: text, apply: func(s *State) {
		for _, name := range s.Cluster.Names() {
			n := s.Cluster.nodes[name].state
			switch {
			case n.Deleting, s.Busy[name]:
				s.Cluster.Remove(name)
				delete(s.Busy, name)
			case !n.Ready:
				s.editNode(name, func(n *api.NodeState) { n.Ready = true })
			}
		}
	}}
}

// raise finds the least limit of a pool, and the least of what is left of the fleet-wide budget that it
// shares, with which the node goes; or when time will do.
func (f *search) raise(s *State, p *Pool, reason string) []change {
	counts := NewIndex(s).countPools()
	total, down := counts.total[p.name], counts.disrupting[p.name]
	now := p.budgets.Limit(s.Now, total, reason, s.Rules)
	var out []change
	if down > 0 {
		out = append(out, settled(down))
	}
	if next := p.budgets.NextChange(s.Now); !next.IsZero() && p.budgets.Limit(next, total, reason, s.Rules) > now {
		out = append(out, until(next, ", when the budgets change"))
	}
	if left, bound := s.FleetAllowed[p.fleet]; bound && p.fleet != "" {
		out = append(out, f.least(left+1, total, func(n int) change {
			text := fmt.Sprintf("raise %s=… by %d in the annotation %s of its NodePools", p.fleet, n-left, api.AnnotationFleetBudget)
			return change{text: text, apply: func(s *State) { s.FleetAllowed[p.fleet] = n }}
		})...)
	}
	if Allowed(now, down) >= Count(total) || p.budgets.Err() != nil {
		return out
	}
	return append(out, f.least(max(int(now), down)+1, total, func(n int) change {
		text := fmt.Sprintf("raise spec.disruption.budgets of NodePool %s to %s for %s (it is %s, and %d are down)", p.name, counted(n, "node"), reason, now, down)
		return change{text: text, apply: func(s *State) {
			s.editPool(p.name, func(p *Pool) { p.budgets = ParseBudgets([]api.DisruptionBudget{{Nodes: new(fmt.Sprint(n))}}, nil) })
		}}
	})...)
}

// least is the change by the smallest number from low to high with which the node goes, that by high
// when none suffices alone.
func (f *search) least(low, high int, by func(int) change) []change {
	if low > high {
		return nil
	}
	alone := func(n int) bool { goes, _ := f.goes([]change{by(n)}); return goes }
	if alone(low) || !alone(high) {
		return []change{by(low)}
	}
	for low+1 < high {
		if middle := (low + high) / 2; alone(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return []change{by(high)}
}

// counted is "1 node", "2 nodes".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// brief is a duration without trailing zeros, "5m".
func brief(d time.Duration) string {
	text := d.String()
	if short, cut := strings.CutSuffix(text, "m0s"); cut {
		text = short + "m"
	}
	if short, cut := strings.CutSuffix(text, "h0m"); cut {
		text = short + "h"
	}
	return text
}
