package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/whatif"
	"flotilla/hub/door/draft"
)

// maxMoves is how many gains and losses an answer lists: one takes some 200 bytes of JSON.
const maxMoves = 100_000

// WhatIf answers what would become of all placements without members, or with documents more: the same decisions on the same records
// as the scheduler's when it happens.
func (p *Planner) WhatIf(ctx context.Context, request *api.WhatIfRequest) (any, error) {
	return planning(ctx, func(ctx context.Context) (*whatif.Answer, error) { return p.whatIf(ctx, request) })
}

func (p *Planner) whatIf(ctx context.Context, request *api.WhatIfRequest) (*whatif.Answer, error) {
	if n := len(request.Documents); n > draft.MaxDocuments {
		return nil, draft.TooMany(n)
	}
	f, documents, err := p.planned(ctx, request.By, bare(request.Documents))
	if err != nil {
		return nil, err
	}
	if faults := others(documents); len(faults) > 0 {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: "nothing is told of other documents", Faults: faults}
	}
	in := whatif.Input{Now: p.store.Now(), Thresholds: p.thresholds, MaxRows: maxMoves}
	if request.Now != nil {
		in.Now = request.Now.Time
	}
	if in.Members, err = p.records.MembersAfter(nil, in.Now); err != nil {
		return nil, err
	}
	if in.Added, err = p.added(documents, request.Documents, &in); err != nil {
		return nil, err
	}
	question := whatif.Question{Without: request.Without, WithoutLabel: request.WithoutLabel}
	if in.Without, err = question.Leaving(in.Joined(), p.whenLeaving); err != nil {
		return nil, refusal(err)
	}
	in.Subjects = p.whatIfSubjects(f)
	for _, entry := range p.records.Runs.All() {
		in.Runs = append(in.Runs, entry.Value)
	}
	in.Notes = append(in.Notes, api.NotesOf(f.Results)...)
	answer := whatif.Build(in)
	return &answer, nil
}

// bare are documents without what the hub sets: what is added may be another object that was exported, under another name. What
// cannot be read is left as it is.
func bare(documents []json.RawMessage) []json.RawMessage {
	out := slices.Clone(documents)
	for i := range out {
		var object, metadata map[string]json.RawMessage
		if json.Unmarshal(out[i], &object) != nil || json.Unmarshal(object["metadata"], &metadata) != nil {
			continue
		}
		maps.DeleteFunc(metadata, func(field string, _ json.RawMessage) bool {
			return !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, field)
		})
		delete(object, "status")
		var err error
		if object["metadata"], err = json.Marshal(metadata); err != nil {
			continue
		}
		if text, err := json.Marshal(object); err == nil {
			out[i] = text
		}
	}
	return out
}

// others are the documents that are no members and no placements.
func others(documents *draft.Documents) strict.Faults {
	var faults strict.Faults
	for i := range documents.All {
		if ref := documents.All[i].Object; !whatif.Addable(ref.Kind) {
			fault := whatif.Refused(ref)
			fault.Document = i + 1
			faults = append(faults, fault)
		}
	}
	return faults
}

// added are the members among documents as they would be. Of one that is new to the hub its status tells.
func (p *Planner) added(documents *draft.Documents, raw []json.RawMessage, in *whatif.Input) ([]api.Member, error) {
	named := documents.Members()
	if len(named) == 0 {
		return nil, nil
	}
	all, err := p.records.MembersAfter(named, in.Now)
	if err != nil {
		return nil, err
	}
	var added []api.Member
	for i := range all {
		if named[all[i].Name] == nil {
			continue
		}
		if _, _, seen := p.records.Seen.Get(all[i].Name); seen {
			added = append(added, all[i])
		}
	}
	for i := range documents.All {
		ref := documents.All[i].Object
		if _, _, seen := p.records.Seen.Get(ref.Name); seen || named[ref.Name] == nil || ref.Kind != api.KindMemberCluster {
			continue
		}
		mc := *named[ref.Name]
		var stated api.MemberCluster
		if err := json.Unmarshal(raw[i], &stated); err != nil {
			return nil, fmt.Errorf("reading the status of %s: %w", ref, err)
		}
		if mc.Status = stated.Status; mc.Status == nil {
			in.Notes = append(in.Notes, whatif.NoStatus(ref.Name))
		}
		added = append(added, whatif.Joined(&mc, in.Now))
	}
	return added, nil
}

// whenLeaving is what is set of a member.
func (p *Planner) whenLeaving(member string) string {
	entry, _, found := p.records.Members.Get(member)
	if !found {
		return api.WhenLeavingRetain
	}
	mc, err := api.SpecOf[api.MemberCluster](&entry)
	if err != nil || mc.Spec.DeleteOptions == nil || mc.Spec.DeleteOptions.WhenLeaving == "" {
		return api.WhenLeavingRetain
	}
	return mc.Spec.DeleteOptions.WhenLeaving
}

// whatIfSubjects are all placements as they are, and those among the documents as they would be.
func (p *Planner) whatIfSubjects(f *draft.Draft) []whatif.Subject {
	stored := map[string]*api.Placement{}
	for _, placement := range p.desk.Placements() {
		if placement.DeletionTimestamp == nil {
			stored[placement.Key()] = placement
		}
	}
	after := f.Placements()
	subjects := make([]whatif.Subject, 0, len(after))
	for key, placement := range after {
		s := whatif.Subject{}
		if f.Names(key) {
			s.Next = placement
		}
		if stored[key] != nil {
			s.Subject, s.Known = p.view.Subject(stored[key]), true
		}
		subjects = append(subjects, s)
	}
	return subjects
}

// refusal is what a person is told of a question that cannot be asked.
func refusal(err error) error {
	faults, wrong := errors.AsType[strict.Faults](err)
	if !wrong {
		return err
	}
	return &api.Failure{Code: api.CodeInvalid, Message: "nothing is known of what would not be there", Faults: faults, Next: "flotilla get members --show-labels"}
}
