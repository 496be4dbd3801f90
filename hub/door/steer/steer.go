// Package steer steers rollouts: undo, pause, resume and restart of placements.
package steer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/records"
)

// Steerer steers the rollouts of one term of leadership.
type Steerer struct {
	desk    *draft.Desk
	records *records.Tables
}

// New returns a steerer whose drafts are made at a desk.
func New(desk *draft.Desk, tables *records.Tables) *Steerer {
	return &Steerer{desk: desk, records: tables}
}

// steered is a placement whose rollout somebody steers, and the draft of it.
type steered struct {
	*draft.Draft
	placement *api.Placement
	stored    *api.Spec
	revision  uint64
	checks    *store.Table[api.CheckRecord]
}

// Undo goes back to a revision of a placement, with a snapshot that holds the same.
func (s *Steerer) Undo(ctx context.Context, request *api.RolloutRequest) (*api.RolloutResponse, error) {
	return s.steer(ctx, request, (*steered).undo)
}

// Pause lets no member move until the rollout is resumed.
func (s *Steerer) Pause(ctx context.Context, request *api.RolloutRequest) (*api.RolloutResponse, error) {
	return s.steer(ctx, request, (*steered).pause)
}

// Resume ends a pause, or else what keeps members with an earlier revision.
func (s *Steerer) Resume(ctx context.Context, request *api.RolloutRequest) (*api.RolloutResponse, error) {
	return s.steer(ctx, request, (*steered).resume)
}

// steer answers a request: the placement is found, decide fills the draft.
func (s *Steerer) steer(ctx context.Context, request *api.RolloutRequest, decide func(*steered, *api.RolloutRequest) (*api.RolloutResponse, error)) (*api.RolloutResponse, error) {
	p, err := s.find(request)
	if err != nil {
		return nil, err
	}
	if first := p.answered(request); first != nil {
		return first, nil
	}
	if err := p.asSeen(request.Basis); err != nil {
		return nil, err
	}
	if p.Blind() {
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "objects are stored that cannot be read, so that nobody knows what a snapshot would hold", Next: "flotilla status"}
	}
	answer, err := decide(p, request)
	if err != nil {
		return nil, err
	}
	answer.Object = p.stored.Object
	answer.Basis = p.basis(request)
	if cut := p.Cut(p.placement.Key()); cut != nil {
		answer.Revision = cut.Index
	}
	if request.DryRun {
		return answer, nil
	}
	if err := p.Commit(ctx); err != nil {
		return nil, fmt.Errorf("steering %s: %w", p.stored.Object, err)
	}
	return answer, nil
}

// find finds the placement of a request, and makes a draft to fill.
func (s *Steerer) find(request *api.RolloutRequest) (*steered, error) {
	table, name := s.records.Place(request.Object)
	stored, revision, found := table.Get(name)
	if !found || table != s.records.Placements {
		return nil, s.records.Missing(request.Object)
	}
	if stored.Deleted != nil {
		return nil, &api.Failure{Code: api.CodeConflict, Message: fmt.Sprintf("%s is being deleted: there is nothing to steer", stored.Object), Next: "flotilla describe " + records.Typed(stored.Object)}
	}
	placement, err := api.SpecOf[api.Placement](&stored)
	if err != nil {
		return nil, err
	}
	return &steered{Draft: s.desk.New(request.By, request.Request), placement: placement, stored: &stored, revision: revision, checks: s.records.Checks}, nil
}

// answered is what a request was answered when it was heard first, nil when it was not: a client that got no answer asks
// again, and undoing or resuming twice is something else than once.
func (p *steered) answered(request *api.RolloutRequest) *api.RolloutResponse {
	if request.Request == "" {
		return nil
	}
	for _, s := range slices.Backward(p.History(p.placement)) {
		if s.Request == request.Request {
			action := api.ActionFollowing
			if s.Undo != nil {
				action = api.ActionUndone
			}
			return &api.RolloutResponse{Object: p.stored.Object, Action: action, Revision: s.Index}
		}
	}
	if first := p.Answered(p.stored); first != nil {
		return &api.RolloutResponse{Object: p.stored.Object, Action: first.Action}
	}
	return nil
}

// undo goes back to a revision of the placement, with a snapshot that holds the same.
func (p *steered) undo(request *api.RolloutRequest) (*api.RolloutResponse, error) {
	past, selected := p.History(p.placement), p.Selected(p.placement)
	next, err := past.Undo(&selected, request.Revision)
	if err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("undoing %s: %s", p.stored.Object, err), Next: "flotilla rollout history " + records.Typed(p.stored.Object)}
	}
	answer := &api.RolloutResponse{Action: api.ActionUndone}
	if next == nil {
		return &api.RolloutResponse{Action: api.ActionUnchanged, Revision: past.Newest().Index, Notes: []string{"members are to have that already"}}, nil
	}
	if err := p.CutAs(p.placement, *next); err != nil {
		return nil, err
	}
	cut := p.Cut(p.placement.Key())
	answer.Of = next.Undo.Of
	message := fmt.Sprintf("back to revision %d, as revision %d", next.Undo.Of, cut.Index)
	p.Audit(p.stored.Object, "RolloutUndone", message)
	answer.Notes = append(answer.Notes, message)
	switch pin := api.PinOf(cut); {
	case pin != nil:
		answer.Notes = append(answer.Notes, draft.StaysPinned(pin, p.stored.Object))
	default:
		answer.Notes = append(answer.Notes, "that is what the placement selects")
	}
	if pause := api.PauseOf(p.placement.Annotations); pause != nil {
		answer.Notes = append(answer.Notes, draft.StaysPaused(pause, p.stored.Object))
	}
	return answer, nil
}

// pause lets no member move until the rollout is resumed.
func (p *steered) pause(request *api.RolloutRequest) (*api.RolloutResponse, error) {
	if pause := api.PauseOf(p.placement.Annotations); pause != nil {
		return &api.RolloutResponse{Action: api.ActionUnchanged, Notes: []string{pause.String()}}, nil
	}
	if len(request.Reason) > maxReason || !api.Printable(request.Reason) {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("pausing %s: expected a reason of at most %d printable characters", p.stored.Object, maxReason)}
	}
	pause := &api.Pause{By: request.By.Name, Since: p.Now(), Reason: request.Reason}
	text, err := json.Marshal(pause)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	p.placement.Annotations = maps.Clone(p.placement.Annotations)
	if p.placement.Annotations == nil {
		p.placement.Annotations = map[string]string{}
	}
	p.placement.Annotations[api.AnnotationPaused] = string(text)
	p.Audit(p.stored.Object, "RolloutPaused", pause.String())
	return &api.RolloutResponse{Action: api.ActionPaused}, p.Rewrite(p.stored, p.revision, p.placement, api.ActionPaused)
}

// refused says that the checks of the newest revision failed, so that it is given to nobody; nil where they did not.
func (p *steered) refused(newest *api.Snapshot) *api.CheckRefusal {
	record, _, found := p.checks.Get(p.placement.Key())
	if !found || newest == nil || !record.Refuses(newest.UID, newest.Index) {
		return nil
	}
	return record.Refused
}

// maxReason is how long a reason for a pause may be.
const maxReason = 200

// resume ends a pause, or else what keeps members with an earlier revision.
func (p *steered) resume(_ *api.RolloutRequest) (*api.RolloutResponse, error) {
	past := p.History(p.placement)
	if pause := api.PauseOf(p.placement.Annotations); pause != nil {
		p.placement.Annotations = maps.Clone(p.placement.Annotations)
		delete(p.placement.Annotations, api.AnnotationPaused)
		p.Audit(p.stored.Object, "RolloutResumed", "it was "+pause.String())
		answer := &api.RolloutResponse{Action: api.ActionResumed}
		if pin := api.PinOf(past.Newest()); pin != nil {
			answer.Notes = append(answer.Notes, draft.StaysPinned(pin, p.stored.Object))
		}
		return answer, p.Rewrite(p.stored, p.revision, p.placement, api.ActionResumed)
	}
	selected := p.Selected(p.placement)
	if refused := p.refused(past.Newest()); refused != nil {
		p.Audit(p.stored.Object, "RolloutResumed", "it is tried again: "+refused.String())
		answer := &api.RolloutResponse{Action: api.ActionTriedAgain, Notes: []string{refused.String() + "; it goes out once more, under its checks"}}
		return answer, p.CutAs(p.placement, selected)
	}
	next := past.Resume(&selected)
	if next == nil {
		return &api.RolloutResponse{Action: api.ActionUnchanged, Notes: []string{"it is neither paused nor pinned to a revision"}}, nil
	}
	pin := api.PinOf(past.Newest())
	p.Audit(p.stored.Object, "RolloutResumed", "it was "+pin.String())
	return &api.RolloutResponse{Action: api.ActionFollowing}, p.CutAs(p.placement, *next)
}
