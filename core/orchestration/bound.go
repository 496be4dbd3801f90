package orchestration

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
)

// What bounds a record, which one message must hold.
const (
	// keptEnded is how many disruptions that have ended a record keeps for people, keptNodes of how many
	// nodes together, and keptMoves of how many pods it tells what nothing acts on: where those of ended
	// ones were expected, and those of running ones are foreseen, or killed.
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
		if d := &p.out.Record.Disruptions[i]; !p.arrived(d) && !disruption.Foreseen(d.Method, d.Forceful) {
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
		if d := &p.out.Record.Disruptions[i]; d.Running() {
			d.Moves = slices.DeleteFunc(slices.Clone(d.Moves), func(m api.PodMove) bool { return m.From != "" && !p.present(d, m.From) })
		}
	}
}

// bound takes from a disruption that begins what it tells of pods and nothing acts on, when the record tells
// enough of that.
func (p *pass) bound(d *api.Disruption) {
	pods := onlyTold(d)
	for i := range p.out.Record.Disruptions {
		if one := &p.out.Record.Disruptions[i]; one.Ended.IsZero() {
			pods += onlyTold(one)
		}
	}
	if pods > keptMoves {
		mute(d)
	}
}

// mute takes from a disruption what it tells of pods and nothing acts on.
func mute(d *api.Disruption) {
	if d.Killed = nil; disruption.Foreseen(d.Method, d.Forceful) {
		d.Moves = nil
	}
}

// onlyTold counts what a disruption tells of pods and nothing acts on.
func onlyTold(d *api.Disruption) int {
	pods := len(d.Killed)
	if disruption.Foreseen(d.Method, d.Forceful) {
		pods += len(d.Moves)
	}
	return pods
}

// arrived reports that a disruption has ended, and that its pods had the time to land where they go.
func (p *pass) arrived(d *api.Disruption) bool {
	return !d.Ended.IsZero() && (d.Phase == api.PhaseAborted || !d.Ended.Add(simulate.NominationHold).After(p.now))
}

// slim takes from disruptions that have ended what nothing acts on any more: what replacements were made
// from, and, the oldest first, where many pods were expected. A record that holds as many pods as it can keeps
// of none what nothing acts on.
func (p *pass) slim() {
	r := &p.out.Record
	moves, full := 0, p.crowded() != ""
	for i := len(r.Disruptions) - 1; i >= 0; i-- {
		d := &r.Disruptions[i]
		if full {
			mute(d)
		}
		if d.Ended.IsZero() {
			continue
		}
		if moves += len(d.Moves) + len(d.Killed); moves > keptMoves && p.arrived(d) {
			d.Moves, d.Killed = nil, nil
		}
		d.Replacements = slices.Clone(d.Replacements)
		for j := range d.Replacements {
			d.Replacements[j].Types, d.Replacements[j].Requests = nil, nil
		}
	}
}
