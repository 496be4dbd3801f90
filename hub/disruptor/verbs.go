package disruptor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/strict"
)

// pageBytes is how much one page of a list holds before it is compressed; NATS takes 1 MiB.
const pageBytes = 600 << 10

// Verbs are the questions and requests about nodes, for the door's service. What they answer stands at
// api.VerbNodes; a refusal is an *api.Failure.
func (d *Disruptor) Verbs() map[string]bus.Handler {
	return map[string]bus.Handler{
		api.VerbNodes:       answering(d, d.answerNodes),
		api.VerbDisruptions: answering(d, d.answerDisruptions),
		api.VerbPlanNodes:   answering(d, d.answerPlan),
		api.VerbWhyNode:     answering(d, d.answerWhy),
		api.VerbBudgets:     answering(d, d.answerBudgets),
		api.VerbDeleteNode:  answering(d, d.answerDelete),
	}
}

func answering[Q any](d *Disruptor, answer func(context.Context, *Q) (any, error)) bus.Handler {
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		var ask Q
		if err := api.ReadRequest(by, body, &ask); err != nil {
			return nil, err
		}
		if err := d.ready(); err != nil {
			return nil, err
		}
		return answer(d.patient(ctx), &ask)
	}
}

// asked are the members that a request is about, from the one on which its page begins.
func (d *Disruptor) asked(ctx context.Context, member, from string) ([]string, error) {
	if member != "" {
		if _, err := d.admitted(ctx, member); err != nil {
			return nil, err
		}
		return []string{member}, nil
	}
	before, _, _ := strings.Cut(from, "/")
	return slices.DeleteFunc(names(d.records.members), func(name string) bool { return name < before }), nil
}

// page gathers rows until it is full.
type page struct {
	Items    []json.RawMessage `json:"items"`
	Continue string            `json:"continue,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	limit    int
	size     int
}

// add takes a row in, and reports whether there is room for more; key is where the next page goes on.
func (p *page) add(key string, row any) (bool, error) {
	body, err := json.Marshal(row)
	if err != nil {
		return false, fmt.Errorf("rendering %s: %w", key, err)
	}
	if len(p.Items) > 0 && (p.size+len(body) > pageBytes || p.limit > 0 && len(p.Items) == p.limit) {
		return false, nil
	}
	p.Items, p.Continue, p.size = append(p.Items, body), key, p.size+len(body)
	return true, nil
}

// note says why nothing is decided for a member, unless the page before said so.
func (p *page) note(member, stale, from string) {
	if at, _, _ := strings.Cut(from, "/"); stale != "" && at != member {
		p.Notes = append(p.Notes, fmt.Sprintf("member %s: nothing is decided: %s", member, stale))
	}
}

func (d *Disruptor) answerNodes(ctx context.Context, ask *api.NodesRequest) (any, error) {
	selector, err := strict.Selector(ask.LabelSelector)
	if err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("reading label selector %s: %s", strict.Shown(ask.LabelSelector), err)}
	}
	members, err := d.asked(ctx, ask.Member, ask.Continue)
	if err != nil {
		return nil, err
	}
	out := &page{Items: []json.RawMessage{}, limit: ask.Limit}
	var unknown error
	for _, member := range members {
		rows, stale, err := d.nodesOf(ctx, member, ask)
		if notes, goesOn := skipped(member, err); goesOn && ask.Member == "" {
			out.Notes = append(out.Notes, notes...)
			if ask.Node != "" && isBusy(err) {
				unknown = err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if ask.Node == "" {
			out.note(member, stale, ask.Continue)
		}
		if more, err := out.addNodes(member, rows, ask, selector); err != nil || !more {
			return out, err
		}
	}
	out.Continue = ""
	if unknown != nil && len(out.Items) == 0 {
		return nil, unknown // nobody can say that there is no such node
	}
	return out, nil
}

// addNodes takes the nodes of a member that are asked for and were not listed before, and reports whether
// there is room for more.
func (p *page) addNodes(member string, rows []api.MemberNode, ask *api.NodesRequest, selector labels.Selector) (bool, error) {
	at, after, _ := strings.Cut(ask.Continue, "/")
	for i := range rows {
		listed := member == at && rows[i].Name <= after
		if listed || ask.Node != "" && rows[i].Name != ask.Node || !selector.Matches(labels.Set(rows[i].Labels)) {
			continue
		}
		if more, err := p.add(member+"/"+rows[i].Name, &rows[i]); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// isGone tells a member that left since the members were listed.
func isGone(err error) bool {
	failure, ok := errors.AsType[*api.Failure](err)
	return ok && failure.Code == api.CodeNotFound
}

// markWaiting shows a node that was chosen, and waits to be checked again, as one that goes.
func markWaiting(row *api.MemberNode, waiting []orchestration.Waiting) {
	for i := range waiting {
		if c := &waiting[i].Command; slices.Contains(c.Nodes, row.Name) {
			row.Status.Verdict = &api.NodeVerdict{Disrupt: c.Reason, Method: c.Method}
		}
	}
}

// nodesOf are the rows of a member, and why nothing is decided for it.
func (d *Disruptor) nodesOf(ctx context.Context, member string, ask *api.NodesRequest) (rows []api.MemberNode, stale string, err error) {
	if _, err := d.admitted(ctx, member); err != nil {
		return nil, "", err
	}
	newest := d.decision(member)
	record := d.record(member)
	waiting := d.waitingOn(member)
	err = d.look(ctx, member, func(s *simulate.State) error {
		stale = s.Stale
		rows = orchestration.MemberNodes(s, member, &newest, record.Disruptions)
		for i := range rows {
			markWaiting(&rows[i], waiting)
			if n, found := s.Cluster.Node(rows[i].Name); ask.WithPods && found && rows[i].Name == ask.Node {
				rows[i].Status.PodStates = slices.Clone(n.Pods)
			}
		}
		return nil
	})
	return rows, stale, err
}
