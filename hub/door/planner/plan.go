package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/plan"
	"flotilla/core/rollout"
	"flotilla/core/status"
	"flotilla/hub/door/draft"
)

// Plan answers what applying documents would change, without changing anything: the same decisions on
// the same records as an apply and the scheduler after it.
func (p *Planner) Plan(ctx context.Context, request *api.PlanRequest) (any, error) {
	return planning(ctx, func(ctx context.Context) (*plan.Answer, error) { return p.plan(ctx, request) })
}

func (p *Planner) plan(ctx context.Context, request *api.PlanRequest) (*plan.Answer, error) {
	if n := len(request.Documents); n > draft.MaxDocuments {
		return nil, draft.TooMany(n)
	}
	f, documents, err := p.planned(ctx, request.By, request.Documents)
	if err != nil {
		return nil, err
	}
	now := p.store.Now()
	if request.Now != nil {
		now = request.Now.Time
	}
	in := plan.Input{
		Now: now, Objects: f.Results,
		Thresholds: p.thresholds, MaxVerdicts: maxVerdicts, Ended: ended(ctx),
	}
	if in.Members, err = p.records.MembersAfter(documents.Members(), now); err != nil {
		return nil, err
	}
	whole := len(documents.All) == 0 && len(request.Runs) == 0
	if in.Subjects = p.subjects(ctx, f, documents, whole); len(in.Subjects) > 0 {
		in.Standings = p.standings(in.Members)
	}
	in.Notes = append(in.Notes, api.NotesOf(f.Results)...)
	in.Notes = append(in.Notes, draft.Unforeseen(f.Results)...)
	if whole {
		in.Notes = append(in.Notes, p.steeringNotes(in.Subjects)...)
	}
	if err := p.planRuns(f, documents, request, &in); err != nil {
		return nil, err
	}
	if err := p.planContents(ctx, f, documents, request, &in); err != nil {
		return nil, err
	}
	in.Assume.MostRows, in.Assume.Ended = mostRows, in.Ended
	in.AssumeContent.MostRows, in.AssumeContent.Ended = mostRows, in.Ended
	answer := plan.Build(in)
	if len(answer.Runs) < len(in.Runs)+len(in.ContentRuns) {
		return nil, &api.Failure{
			Code: api.CodeTooLarge, Next: "flotilla plan --help",
			Message: fmt.Sprintf("the runs of the plan have more than %d members and events: plan fewer runs at a time", mostRows),
		}
	}
	answer.Notes = append(answer.Notes, held(f, &answer)...)
	if picks := picksOf(&answer); picks > maxPicks {
		return nil, &api.Failure{
			Code:    api.CodeTooLarge,
			Message: fmt.Sprintf("the plan has %d picks and removals, one answer holds %d: plan fewer placements at a time", picks, maxPicks),
			Next:    "flotilla status",
		}
	}
	return &answer, nil
}

// held notes what members would lose at once that waits for an approval then.
func held(f *draft.Draft, answer *plan.Answer) []string {
	left := map[string]int{}
	for i := range answer.Placements {
		left[answer.Placements[i].Name] = len(answer.Placements[i].Removed)
	}
	if beyond := f.Held(left); beyond != "" {
		return []string{"it would take away " + beyond + ": that is held until somebody approves it, flotilla approve withdrawal"}
	}
	return nil
}

// A verdict takes some 200 bytes of JSON and a pick some 90; together they stay well below the 64 MiB
// that a client unpacks.
const (
	maxVerdicts = 100_000
	maxPicks    = 200_000
)

func picksOf(answer *plan.Answer) int {
	rows := 0
	for i := range answer.Placements {
		rows += len(answer.Placements[i].Picked) + len(answer.Placements[i].Removed)
	}
	return rows
}

// planned is the draft of an apply that is not committed. It holds no writer up.
func (p *Planner) planned(ctx context.Context, by api.Caller, raw []json.RawMessage) (*draft.Draft, *draft.Documents, error) {
	documents, err := p.desk.Read(ctx, raw, draft.Terms{Hidden: hidden(by)})
	if err != nil {
		return nil, nil, err
	}
	if err := forbidValues(by, raw, documents.Merged); err != nil {
		return nil, nil, err
	}
	f, err := p.drafted(ctx, by, documents)
	if err != nil {
		return nil, nil, err
	}
	f.Remark(ctx)
	return f, documents, nil
}

// subjects are the placements to plan, as they would be: those the documents name, or all of the whole
// fleet; and quietly those of others that members among the documents may move, or whose content
// would change.
func (p *Planner) subjects(ctx context.Context, f *draft.Draft, documents *draft.Documents, whole bool) []plan.Subject {
	moving := len(documents.Members()) > 0
	placements := f.Placements()
	subjects := make([]plan.Subject, 0, len(placements))
	for key, placement := range placements {
		if ctx.Err() != nil {
			break // nobody gets them
		}
		named := f.Names(key)
		subject := p.view.Subject(placement)
		subject.Quiet = !named && !whole
		if latest := p.records.Latest(key, string(placement.UID)); (f.Touches() || named) && (!latest.Pinned() || f.Cut(key) != nil) {
			subject.Content = plan.Compare(placement, latest, f.Index())
		}
		if !subject.Quiet || moving || subject.Content != nil {
			subject.Released = p.released(f, placement)
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// steeringNotes says which placements of a plan are paused, or stay with an earlier revision.
func (p *Planner) steeringNotes(subjects []plan.Subject) (notes []string) {
	f := p.desk.New(draft.Door(), "")
	for i := range subjects {
		placement := &subjects[i].Placement
		for _, note := range f.Steering(placement) {
			notes = append(notes, draft.RefOf(placement).String()+": "+note)
		}
	}
	slices.Sort(notes)
	return notes
}

// released is how the rollout of a placement stands, with the snapshot that a draft cuts.
func (p *Planner) released(f *draft.Draft, placement *api.Placement) plan.Released {
	in := p.view.StatusOf(placement)
	released := plan.Released{Release: in.Release, Latest: in.Latest, Results: in.Results, Message: status.WaitsFor(in), Checks: in.Checks}
	released.Frozen = guard.Waits(p.records.Frozen().Of(api.FreezePlacements))
	if stored, _, found := p.records.Specs[api.KindRolloutCheck].Get(placement.Annotations[api.AnnotationRolloutCheck]); found {
		released.Check, _ = api.SpecOf[api.RolloutCheck](&stored)
	}
	if cut := f.Cut(placement.Key()); cut != nil {
		released.Latest = cut
		return released
	}
	if rendered, _, found := p.records.Renderings.Get(placement.Key()); found && rendered.Snapshot != 0 {
		released.Rendered = &rendered
	}
	return released
}

// standings are how members do as rollouts see them. One that nobody admitted yet, and the plan would,
// is Ready then.
func (p *Planner) standings(members []api.Member) map[string]plan.Standing {
	standings := make(map[string]plan.Standing, len(members))
	for i := range members {
		name := members[i].Name
		record, _, _ := p.records.Seen.Get(name)
		spec, _, admitted := p.records.Members.Get(name)
		if !admitted && record.Name != "" {
			record.State = api.MemberReady
		}
		view := rollout.ViewOf(&spec, record.State)
		view.Frozen = guard.Waits(p.records.Frozen().OfMember(name))
		standings[name] = plan.Standing{MemberView: view, Since: record.Since.Time}
	}
	return standings
}
