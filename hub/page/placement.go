package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/core/overview"
	"flotilla/core/verdict"
	"flotilla/core/why"
)

// placementScreen says of one placement where it is, why it is not elsewhere, and who holds it up.
var placementScreen = &screen{
	Home: "/placements", patterns: []string{"/placements/{name}", "/placements/{namespace}/{name}"}, draw: drawPlacement,
}

// placement is one placement with all that is drawn of it.
type placement struct {
	Key    string
	Object *api.Placement
	Status *api.PlacementStatus
	Row    *overview.Placement
	// Runs are the staged runs of its content that have not ended.
	Runs []overview.Run
	onMembers
	whyThere
	Revisions []api.Revision
}

// onMembers is where a placement stands with members, and with which it does not.
type onMembers struct {
	Cells *overview.CellsOfOne
	// By is what members are grouped by, Groups where it stands with each; Group is the one that is looked at, nil for all.
	Choices []string
	overview.Matrix
	Group  *string
	Shown  overview.Span
	Stands []overview.Stands
	// Filter is the one whose members are looked at, "" for none, Refused those members.
	Filter  string
	Refused []why.Answer
}

// whyThere is why a placement goes to a member, or does not.
type whyThere struct {
	// Member is the one that Why is about; Unknown says why there is no answer.
	Member  string
	Why     *why.Answer
	Unknown *api.Failure
}

// Named is how actions name it.
func (p *placement) Named() string { return api.AuditObject(api.AuditPlacement, p.Key) }

// Shows says that the members of a group are those that are looked at.
func (p *placement) Shows(g overview.MatrixGroup) bool {
	return p.Group != nil && *p.Group == g.Name && g.Rest == 0
}

// Word says to people which filter refused members.
func (p *placement) Word(filter string) string {
	return verdict.FilterWord(p.Object.Spec.Policy.Type(), filter)
}

// Stand is how the placement does in a group.
func (p *placement) Stand(group int) overview.MatrixCell { return p.Rows[0].Cells[group] }

func drawPlacement(v *visit) (*drawing, error) {
	p := &placement{Key: api.Keyed(v.path("namespace"), v.path("name")), Object: &api.Placement{}}
	p.Member, p.Filter = v.query("member"), v.query("filter")
	ref := deed.PlacementRef(p.Key)
	for _, read := range []func(*visit, api.ObjectRef) error{p.read, p.stand, p.refused, p.why, p.history} {
		if err := read(v, ref); err != nil {
			return nil, err
		}
	}
	happened, err := v.happened(&api.EventsRequest{Object: p.Named(), Limit: eventsShown})
	if err != nil {
		return nil, err
	}
	return &drawing{
		Title: "Placement " + p.Key,
		Parts: []part{
			{"placement", "placement", p},
			{"why", "placement-why", p},
			{"groups", "placement-groups", p},
			{"verdicts", "placement-verdicts", p},
			{"members", "placement-members", p},
			{"revisions", "placement-revisions", p},
			{"events", "audits", happened},
		},
		Table: func(v *visit, _ string) (*overview.Table, error) {
			var body json.RawMessage
			if err := v.ask(api.VerbGet, &api.GetRequest{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}, &body); err != nil {
				return nil, err
			}
			return overview.EntryTable("placement-"+strings.ReplaceAll(p.Key, "/", "-"), body)
		},
	}, nil
}

// read reads the placement, without the entries of its members.
func (p *placement) read(v *visit, ref api.ObjectRef) error {
	if err := v.ask(api.VerbGet, &api.GetRequest{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Brief: true}, p.Object); err != nil {
		return err
	}
	p.Status = cmp.Or(p.Object.Status, &api.PlacementStatus{})
	at := overview.PlacementOf(p.Object, p.Status)
	p.Row = &at
	if row := v.fleet.Placement(p.Key); row != nil {
		p.Row.Complete(row)
	}
	p.Runs = v.fleet.RunsOf(p.Key)
	return nil
}

// stand reads where the placement stands with members.
func (p *placement) stand(v *visit, _ api.ObjectRef) error {
	var cells overview.Cells
	if err := v.ask(api.VerbCells, &api.CellsRequest{Placements: []string{p.Key}}, &cells); err != nil {
		return err
	}
	p.Cells = &cells.Placements[0]
	p.Matrix = overview.MatrixOf([]overview.Placement{*p.Row}, &cells, v.fleet.Members, v.query("by"))
	p.Choices = overview.Groupings(v.members())
	if group := v.query("group"); group != "" {
		group = strings.TrimPrefix(group, "-") // no value of a label begins so
		p.Group = &group
	}
	p.Stands, p.Shown = windowOf(v, cells.Stands(0, v.fleet.Members, p.By, p.Group), memberWindow)
	return nil
}

// refused reads of which members a filter says that the placement does not go there, and why.
func (p *placement) refused(v *visit, ref api.ObjectRef) error {
	if p.Filter == "" {
		return nil
	}
	answers, err := v.whys(ref, "")
	answers = slices.DeleteFunc(answers, func(a why.Answer) bool { return a.Verdict.Picked || a.Verdict.Filter != p.Filter })
	slices.SortStableFunc(answers, func(a, b why.Answer) int { return cmp.Compare(a.Verdict.Rank, b.Verdict.Rank) })
	p.Refused, p.Shown = windowOf(v, answers, memberWindow)
	return err
}

// why asks why the placement goes to a member, or does not.
func (p *placement) why(v *visit, ref api.ObjectRef) error {
	if p.Member == "" {
		return nil
	}
	answers, err := v.whys(ref, p.Member)
	if failure, is := errors.AsType[*api.Failure](err); is {
		p.Unknown = failure
		return nil
	}
	if len(answers) > 0 {
		p.Why = &answers[0]
	}
	return err
}

// whys is why a placement goes to a member, or to each where it is empty.
func (v *visit) whys(ref api.ObjectRef, member string) (answers []why.Answer, err error) {
	err = v.ask(api.VerbWhy, &api.WhyRequest{Kind: ref.Kind, Namespace: ref.Namespace, Placement: ref.Name, Member: member}, &answers)
	return answers, err
}

// history reads the revisions, and puts the newest first.
func (p *placement) history(v *visit, ref api.ObjectRef) error {
	var answer api.HistoryResponse
	err := v.ask(api.VerbRolloutHistory, &api.HistoryRequest{Object: ref}, &answer)
	p.Revisions = answer.Revisions
	slices.Reverse(p.Revisions)
	return err
}
