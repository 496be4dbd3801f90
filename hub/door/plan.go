package door

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/rollout"
	"flotilla/core/status"
	"flotilla/core/validate"
)

// plan answers what applying documents would change, without changing anything: the same decisions on
// the same records as an apply and the scheduler after it.
func (d *Door) plan(ctx context.Context, request *api.PlanRequest) (any, error) {
	if n := len(request.Documents); n > maxDocuments {
		return nil, tooMany(n)
	}
	f, documents, err := d.planned(ctx, request)
	if err != nil {
		return nil, err
	}
	now := d.store.Now()
	if request.Now != nil {
		now = request.Now.Time
	}
	in := plan.Input{
		Now: now, Objects: f.results,
		Thresholds: d.options.Thresholds, MaxVerdicts: maxVerdicts,
	}
	if in.Members, err = d.records.MembersAfter(membersAmong(documents), now); err != nil {
		return nil, err
	}
	whole := len(documents) == 0 && len(request.Runs) == 0
	if in.Subjects = d.subjects(f, documents, whole); len(in.Subjects) > 0 {
		in.Standings = d.standings(in.Members)
	}
	for i := range f.results {
		for _, note := range f.results[i].Notes {
			in.Notes = append(in.Notes, f.results[i].Object.String()+": "+note)
		}
	}
	in.Notes = append(in.Notes, overrideNotes(f.results)...)
	if whole {
		in.Notes = append(in.Notes, d.steeringNotes(in.Subjects)...)
	}
	if err := d.planRuns(f, documents, request, &in); err != nil {
		return nil, err
	}
	answer := plan.Build(in)
	if picks := picksOf(&answer); picks > maxPicks {
		return nil, &api.Failure{
			Code:    api.CodeTooLarge,
			Message: fmt.Sprintf("the plan has %d picks and removals, one answer holds %d: plan fewer placements at a time", picks, maxPicks),
			Next:    "flotilla status",
		}
	}
	return &answer, nil
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

// planned is the draft of an apply that is not committed. Only drafting holds writers up; deciding about
// placements does not.
func (d *Door) planned(ctx context.Context, request *api.PlanRequest) (*draft, []document, error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	documents, wrong, err := d.readDocuments(ctx, request.Documents)
	if err != nil {
		return nil, nil, err
	}
	f := d.newDraft(door, "")
	f.refused, f.planning = *wrong, true
	if err := f.applyAll(ctx, documents); err != nil {
		return nil, nil, err
	}
	return f, documents, nil
}

// subjects are the placements to plan, as they would be: those the documents name, or all of the whole
// fleet; and quietly those of others that members among the documents may move, or whose content
// would change.
func (d *Door) subjects(f *draft, documents []document, whole bool) []plan.Subject {
	moving := slices.ContainsFunc(documents, func(doc document) bool { return validate.As[api.MemberCluster](&doc.Decoded) != nil })
	stored := d.storedPlacements()
	placements := map[string]*api.Placement{}
	for _, p := range stored {
		placements[p.Key()] = p
	}
	maps.Copy(placements, f.placements)
	subjects := make([]plan.Subject, 0, len(placements))
	for key, p := range placements {
		if p == nil || p.DeletionTimestamp != nil {
			continue
		}
		_, named := f.named[key]
		subject := d.view.Subject(p)
		subject.Quiet = !named && !whole
		if latest := d.records.Latest(key, string(p.UID)); (f.touched || named) && (!latest.Pinned() || f.cuts[key] != nil) {
			subject.Content = plan.Compare(p, latest, f.index)
		}
		if !subject.Quiet || moving || subject.Content != nil {
			subject.Released = d.released(f, p)
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// steeringNotes says which placements of a plan are paused, or stay with an earlier revision.
func (d *Door) steeringNotes(subjects []plan.Subject) (notes []string) {
	f := d.newDraft(door, "")
	for i := range subjects {
		p := &subjects[i].Placement
		for _, note := range f.steeringOf(p) {
			notes = append(notes, objectOf(p).String()+": "+note)
		}
	}
	slices.Sort(notes)
	return notes
}

// released is how the rollout of a placement stands, with the snapshot that a draft cuts.
func (d *Door) released(f *draft, p *api.Placement) plan.Released {
	in := d.view.StatusOf(p)
	released := plan.Released{Release: in.Release, Latest: in.Latest, Results: in.Results, Message: status.WaitsFor(in)}
	if cut := f.cuts[p.Key()]; cut != nil {
		released.Latest = cut
		return released
	}
	if rendered, _, found := d.records.Renderings.Get(p.Key()); found && rendered.Snapshot != 0 {
		released.Rendered = &rendered
	}
	return released
}

// standings are how members do as rollouts see them. One that nobody admitted yet, and the plan would,
// is Ready then.
func (d *Door) standings(members []api.Member) map[string]plan.Standing {
	standings := make(map[string]plan.Standing, len(members))
	for i := range members {
		name := members[i].Name
		record, _, _ := d.records.Seen.Get(name)
		spec, _, admitted := d.records.Members.Get(name)
		if !admitted && record.Name != "" {
			record.State = api.MemberReady
		}
		standings[name] = plan.Standing{MemberView: rollout.ViewOf(&spec, record.State), Since: record.Since.Time}
	}
	return standings
}

// membersAmong are the MemberClusters among documents, by name.
func membersAmong(documents []document) map[string]*api.MemberCluster {
	members := map[string]*api.MemberCluster{}
	for i := range documents {
		if m := validate.As[api.MemberCluster](&documents[i].Decoded); m != nil {
			members[m.Name] = m
		}
	}
	return members
}
