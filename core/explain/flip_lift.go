package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// lifting are the changes that could lift a refusal, those first that ask the least.
func (f *search) lifting(s *simulate.State, r *disruption.Refusal) []change {
	n := s.Cluster.Nodes[f.node]
	p := s.Pool(n.Pool)
	switch r.Code {
	case disruption.CodeNodeProtected:
		return []change{{text: fmt.Sprintf("kubectl annotate node %s %s-", f.node, api.AnnotationDoNotDisrupt), apply: func(s *simulate.State) {
			s.EditNode(f.node, func(n *api.NodeState) { delete(n.Annotations, api.AnnotationDoNotDisrupt) })
		}}}
	case disruption.CodePodProtected:
		return f.unprotect(s, r)
	case disruption.CodePDB, disruption.CodePDBOverlap, disruption.CodePDBExceeded:
		return f.allowEvictions(s, r)
	case disruption.CodeNominated:
		return []change{until(s.NominatedUntil(n.State), "")}
	case disruption.CodeBackoff:
		return []change{until(s.Backoffs[f.node], "")}
	case disruption.CodeStale:
		return []change{{text: "wait until decisions are made again: " + s.Stale, waits: true, apply: func(s *simulate.State) { s.Stale = "" }}}
	case disruption.CodePendingPodNeedsIt:
		return []change{without(r.About)}
	case disruption.CodeSpotDisabled:
		return []change{{text: "set disruption.spotToSpot to true in the configuration of the hub", apply: func(s *simulate.State) { s.Rules.SpotToSpot = true }}}
	}
	if p == nil {
		return nil
	}
	return f.liftingInPool(s, r, p)
}

// liftingInPool are the changes of a NodePool that could lift a refusal.
func (f *search) liftingInPool(s *simulate.State, r *disruption.Refusal, p *capacity.Pool) []change {
	edit := func(field, value, now string, set func(*capacity.Pool)) []change {
		text := fmt.Sprintf("set %s of NodePool %s to %s (it is %s)", field, p.Name, value, now)
		return []change{{text: text, apply: func(s *simulate.State) { s.EditPool(p.Name, set) }}}
	}
	consolidate := func(p *capacity.Pool) { p.Policy = api.WhenEmptyOrUnderutilized }
	switch r.Code {
	case disruption.CodePoolProtected:
		text := fmt.Sprintf("remove %s from spec.template.metadata.annotations of NodePool %s", api.AnnotationDoNotDisrupt, p.Name)
		return []change{{text: text, apply: func(s *simulate.State) { s.EditPool(p.Name, func(p *capacity.Pool) { p.Protected = false }) }}}
	case disruption.CodeDisabled:
		return edit("spec.disruption.consolidateAfter", api.DefaultConsolidateAfter, api.Never, func(p *capacity.Pool) { p.Disabled, p.ConsolidateAfter = false, 0 })
	case disruption.CodeNotEmpty, disruption.CodeScore:
		if r.Method == disruption.MethodEmpty || p.Policy == api.WhenEmptyOrUnderutilized {
			return nil
		}
		return edit("spec.disruption.consolidationPolicy", api.WhenEmptyOrUnderutilized, p.Policy, consolidate)
	case disruption.CodeMinValues:
		text := "leave minValues out of the requirements of NodePool " + p.Name
		return []change{{text: text, apply: func(s *simulate.State) { s.EditPool(p.Name, func(p *capacity.Pool) { p.MinValues = nil }) }}}
	case disruption.CodeQuiet:
		quiet := simulate.QuietSince(s.Cluster.Nodes[f.node].State)
		short := max(0, s.Now.Sub(quiet)).Truncate(time.Second)
		return append([]change{until(quiet.Add(p.ConsolidateAfter), ", if no pod comes, ends or leaves before")},
			edit("spec.disruption.consolidateAfter", phrase.Span(short)+" or less", phrase.Span(p.ConsolidateAfter), func(p *capacity.Pool) { p.ConsolidateAfter = short })...)
	case disruption.CodeBudget:
		return f.raise(s, p, disruption.ReasonOf(r.Method))
	}
	return nil
}

// without is that a pod which waits for a node waits no more.
func without(pending string) change {
	space, name, _ := strings.Cut(pending, "/")
	return change{text: fmt.Sprintf("kubectl delete pod -n %s %s, which waits for a node, or make room for it on another node", space, name), apply: func(s *simulate.State) {
		s.Cluster.Pending = slices.DeleteFunc(slices.Clone(s.Cluster.Pending), func(p *cluster.Pod) bool { return p.Key == pending })
	}}
}

// until is to wait.
func until(at time.Time, provided string) change {
	return change{text: "wait until " + at.UTC().Format(time.RFC3339) + provided, waits: true, apply: func(s *simulate.State) {
		if at.After(s.Now) {
			s.Now = at
		}
	}}
}

// unprotect takes the annotation off the pod that a refusal is about, or waits for its end.
func (f *search) unprotect(s *simulate.State, r *disruption.Refusal) []change {
	space, name, _ := strings.Cut(r.About, "/")
	out := []change{{text: fmt.Sprintf("kubectl annotate pod -n %s %s %s-", space, name, api.AnnotationDoNotDisrupt), apply: func(s *simulate.State) {
		s.EditNode(f.node, func(n *api.NodeState) {
			for i := range n.Pods {
				if p := &n.Pods[i]; p.Namespace == space && p.Name == name {
					p.Annotations = withoutKey(p.Annotations, api.AnnotationDoNotDisrupt)
				}
			}
		})
	}}}
	for i := range s.Cluster.Nodes[f.node].Pods {
		if p := &s.Cluster.Nodes[f.node].Pods[i]; p.Key == r.About {
			if _, end := p.Protected(s.Now); !end.IsZero() {
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
func (f *search) allowEvictions(s *simulate.State, r *disruption.Refusal) []change {
	cover := simulate.CoverBudgets(s.Cluster.Budgets)
	pods := s.Cluster.Nodes[f.node].Pods
	if i := slices.IndexFunc(pods, func(p cluster.Pod) bool { return p.Key == r.About }); i >= 0 {
		var names []string
		for _, b := range cover.Of(&pods[i]) {
			names = append(names, b.Name)
		}
		if len(names) > 1 {
			text := fmt.Sprintf("let only %s of the PodDisruptionBudgets %s cover pod %s", names[0], strings.Join(names, ", "), r.About)
			return []change{{text: text, apply: func(s *simulate.State) {
				s.Cluster.Budgets = slices.DeleteFunc(s.Cluster.Budgets, func(b cluster.PodBudget) bool { return slices.Contains(names[1:], b.Name) })
			}}}
		}
	}
	here, allowed := 0, 0
	for i := range pods {
		for _, b := range cover.Of(&pods[i]) {
			if b.Name == r.About && pods[i].Evictable(s.Now) && b.Holds(&pods[i]) {
				here, allowed = here+1, b.Allowed
			}
		}
	}
	if here == 0 {
		return nil
	}
	text := fmt.Sprintf("let PodDisruptionBudget %s allow %s (it allows %d), by more healthy pods or a higher maxUnavailable", r.About, phrase.Count(here, "eviction"), allowed)
	return []change{{text: text, apply: func(s *simulate.State) {
		s.EditBudget(r.About, func(b *cluster.PodBudget) { b.Allowed, b.Full = here, false })
	}}}
}

// settled is to wait until the nodes that are down for now are gone, or back.
func settled(down int) change {
	text := fmt.Sprintf("wait until the %d nodes that are down are gone or back", down)
	if down == 1 {
		text = "wait until the node that is down is gone or back"
	}
	return change{text: text, apply: func(s *simulate.State) {
		for _, name := range s.Cluster.Names() {
			n := s.Cluster.Nodes[name].State
			switch {
			case n.Deleting, s.Busy[name]:
				s.Cluster.Remove(name)
				delete(s.Busy, name)
			case !n.Ready:
				s.EditNode(name, func(n *api.NodeState) { n.Ready = true })
			}
		}
	}}
}

// raise finds the least limit of a pool, and the least of what is left of the fleet-wide budget that it
// shares, with which the node goes; or when time will do.
func (f *search) raise(s *simulate.State, p *capacity.Pool, reason string) []change {
	counts := disruption.CountPool(s, p.Name)
	total, down := counts.Total, counts.Disrupting
	now := p.Budgets.Limit(s.Now, total, reason, s.Rules)
	var out []change
	if down > 0 {
		out = append(out, settled(down))
	}
	if next := p.Budgets.NextChange(s.Now); !next.IsZero() && p.Budgets.Limit(next, total, reason, s.Rules) > now {
		out = append(out, until(next, ", when the budgets change"))
	}
	if left, bound := s.FleetAllowed[p.FleetBudget]; bound && p.FleetBudget != "" {
		out = append(out, f.least(left+1, total, func(n int) change {
			text := fmt.Sprintf("raise %s=… by %d in the annotation %s of its NodePools", p.FleetBudget, n-left, api.AnnotationFleetBudget)
			return change{text: text, apply: func(s *simulate.State) { s.FleetAllowed[p.FleetBudget] = n }}
		})...)
	}
	if capacity.Allowed(now, down) >= capacity.Count(total) || p.Budgets.Err() != nil {
		return out
	}
	return append(out, f.least(max(int(now), down)+1, total, func(n int) change {
		text := fmt.Sprintf("raise spec.disruption.budgets of NodePool %s to %s for %s (it is %s, and %d are down)", p.Name, phrase.Count(n, "node"), reason, now, down)
		return change{text: text, apply: func(s *simulate.State) {
			s.EditPool(p.Name, func(p *capacity.Pool) {
				p.Budgets = capacity.ParseBudgets([]api.DisruptionBudget{{Nodes: new(fmt.Sprint(n))}}, nil)
			})
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
