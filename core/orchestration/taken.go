package orchestration

import (
	"flotilla/core/api"
	"flotilla/core/disruption"
)

// tellTaken tells once of each node that Karpenter takes away and that no disruption of the record holds. While the state
// is not whole what was told stays.
func (p *pass) tellTaken() {
	if p.in.State.Stale != "" {
		return
	}
	r := &p.out.Record
	told, ours := map[string]string{}, p.launched()
	for _, name := range p.in.State.Cluster.Names() {
		n, _ := p.in.State.Cluster.Node(name)
		if n.Taken == "" || p.state.Busy[name] || ours[name] {
			continue
		}
		told[name] = n.UID
		if uid, known := r.Taken[name]; !known || uid != n.UID {
			kind := "Warning"
			if n.Taken == api.TakenExpired {
				kind = "Normal"
			}
			p.tellNodes([]string{name}, kind, api.ReasonKarpenterDisrupts, disruption.TakenText(n.Taken))
		}
	}
	if r.Taken = nil; len(told) > 0 {
		r.Taken = told
	}
}

// launched are the nodes that disruptions of the record launched: their agent takes back what nobody wants any more.
func (p *pass) launched() map[string]bool {
	out := map[string]bool{}
	for i := range p.out.Record.Disruptions {
		for j := range p.out.Record.Disruptions[i].Replacements {
			out[p.out.Record.Disruptions[i].Replacements[j].Node] = true
		}
	}
	return out
}
