package disruptor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/explain"
	"flotilla/core/orchestration"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// noSuchNode is what a request about a node is answered that a member does not have.
func noSuchNode(member, node string) *api.Failure {
	return &api.Failure{Code: api.CodeNotFound, Message: fmt.Sprintf("member %s has no node %q", member, node), Next: "flotilla get nodes -m " + member}
}

// Of a plan: how many nodes it may name, and how many documents it may suppose.
const (
	mostNamed    = 100
	mostSupposed = 500
)

// plannable refuses a question that would take too much to answer.
func plannable(ask *api.PlanNodesRequest) error {
	refused := ""
	switch {
	case len(ask.Nodes) > mostNamed:
		refused = fmt.Sprintf("%d nodes are named, of which a plan explains at most %d", len(ask.Nodes), mostNamed)
	case len(ask.Documents) > mostSupposed:
		refused = fmt.Sprintf("there are %d documents, of which a plan supposes at most %d", len(ask.Documents), mostSupposed)
	default:
		return nil
	}
	return &api.Failure{Code: api.CodeInvalid, Message: refused, Next: "flotilla plan nodes -m " + ask.Member}
}

func (d *Disruptor) answerPlan(ctx context.Context, ask *api.PlanNodesRequest) (any, error) {
	if err := plannable(ask); err != nil {
		return nil, err
	}
	as, err := suppose(ask.Documents)
	if err != nil {
		return nil, err
	}
	notes, err := d.onTheWay(ctx, ask.Member)
	if err != nil {
		return nil, err
	}
	var out explain.MemberForecast
	err = d.lookInto(ctx, ask.Member, as, func(in orchestration.StepInput, left []string) error {
		for _, name := range ask.Nodes {
			if _, found := in.State.Cluster.Node(name); !found {
				return noSuchNode(ask.Member, name)
			}
		}
		in.State.FleetAllowed = maps.Clone(in.State.FleetAllowed)
		for name, left := range ask.FleetBudgets {
			if now, bound := in.State.FleetAllowed[name]; bound {
				in.State.FleetAllowed[name] = min(now, left)
			}
		}
		out = explain.ForeseeStep(in, ask.Nodes, ask.Passes)
		notes = append(notes, left...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if as != nil {
		notes = append(as.notes, notes...)
	}
	out.Notes = append(notes, out.Notes...)
	return &out, nil
}

// onTheWay says what has begun on a member, which a plan of what comes next leaves out.
func (d *Disruptor) onTheWay(ctx context.Context, member string) ([]string, error) {
	if _, err := d.admitted(ctx, member); err != nil {
		return nil, err
	}
	var notes []string
	record := d.record(member)
	for i := range record.Disruptions {
		if one := &record.Disruptions[i]; one.Running() {
			notes = append(notes, fmt.Sprintf("member %s: not planned again, disruption %s is %s: %s of %s", member, one.ID, one.Phase, one.Reason, phrase.Names(one.Nodes, shownNodes)))
		}
	}
	return notes, nil
}

// shownNodes is how many nodes a note names.
const shownNodes = 5

func (d *Disruptor) answerWhy(ctx context.Context, ask *api.WhyNodeRequest) (any, error) {
	if _, err := d.admitted(ctx, ask.Member); err != nil {
		return nil, err
	}
	record := d.record(ask.Member)
	waiting := d.waitingOn(ask.Member)
	var out explain.NodeAnswer
	err := d.look(ctx, ask.Member, func(s *simulate.State) error {
		var found bool
		if out, found = explain.Answer(s, ask.Member, ask.Node, &record); !found {
			return noSuchNode(ask.Member, ask.Node)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range waiting {
		if c := &waiting[i].Command; slices.Contains(c.Nodes, ask.Node) {
			out.Notes = append(out.Notes, fmt.Sprintf("it was chosen for %s (%s): that %s", c.Reason, c.Method, d.beginsAt(&waiting[i])))
		}
	}
	return &out, nil
}
