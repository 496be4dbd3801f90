package disruption

import (
	"fmt"
	"slices"

	"flotilla/core/api"
)

// What bounds a record, which one message must hold.
const (
	// keptEnded is how many disruptions that have ended a record keeps for people, keptNodes of how many
	// nodes together, and keptMoves of how many pods it tells where those were expected.
	keptEnded = 10
	keptNodes = 2000
	keptMoves = 2000
	// mostMoves is how many pods are on their way when nothing more begins.
	mostMoves = 10_000
)

// crowded says that so many pods are on their way that nothing more begins before some of them arrived.
func (p *pass) crowded() string {
	moves := 0
	for i := range p.out.Record.Disruptions {
		if d := &p.out.Record.Disruptions[i]; !p.arrived(d) {
			moves += len(d.Moves)
		}
	}
	if moves < mostMoves {
		return ""
	}
	return fmt.Sprintf("%d pods are on their way to other nodes: what runs is finished first", moves)
}

// thin takes from disruptions that run where pods of nodes went that are gone, when there are too many to
// go on otherwise: one node that does not drain is not to hold up all others.
func (p *pass) thin() {
	if p.crowded() == "" || p.in.State.Stale != "" {
		return
	}
	for i := range p.out.Record.Disruptions {
		if d := &p.out.Record.Disruptions[i]; Running(d) {
			d.Moves = slices.DeleteFunc(slices.Clone(d.Moves), func(m api.PodMove) bool { return m.From != "" && !p.present(d, m.From) })
		}
	}
}

// arrived reports that a disruption has ended, and that its pods had the time to land where they go.
func (p *pass) arrived(d *api.Disruption) bool {
	return !d.Ended.IsZero() && (d.Phase == api.PhaseAborted || !d.Ended.Add(NominationHold).After(p.now))
}

// slim takes from disruptions that have ended what nothing acts on any more: what replacements were made
// from, and, the oldest first, where many pods were expected.
func (p *pass) slim() {
	r := &p.out.Record
	moves := 0
	for i := len(r.Disruptions) - 1; i >= 0; i-- {
		d := &r.Disruptions[i]
		if d.Ended.IsZero() {
			continue
		}
		if moves += len(d.Moves); moves > keptMoves && p.arrived(d) {
			d.Moves = nil
		}
		d.Replacements = slices.Clone(d.Replacements)
		for j := range d.Replacements {
			d.Replacements[j].Types, d.Replacements[j].Requests = nil, nil
		}
	}
}
