package door

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/hub/door/records"
)

// steered is a placement whose rollout somebody steers.
type steered struct {
	*api.Placement
	stored   *api.Spec
	revision uint64
	table    string
}

// steering answers a request that steers a rollout: the placement is found, decide fills the draft.
func (d *Door) steering(decide func(*draft, *steered, *api.RolloutRequest) (*api.RolloutResponse, error)) func(context.Context, *api.RolloutRequest) (*api.RolloutResponse, error) {
	return func(ctx context.Context, request *api.RolloutRequest) (*api.RolloutResponse, error) {
		p, f, err := d.steer(request)
		if err != nil {
			return nil, err
		}
		if first := f.answered(p, request); first != nil {
			return first, nil
		}
		if f.blind() {
			return nil, &api.Failure{Code: api.CodeUnavailable, Message: "objects are stored that cannot be read, so that nobody knows what a snapshot would hold", Next: "flotilla status"}
		}
		answer, err := decide(f, p, request)
		if err != nil {
			return nil, err
		}
		answer.Object = p.stored.Object
		if cut := f.cuts[p.Key()]; cut != nil {
			answer.Revision = cut.Index
		}
		if request.DryRun {
			return answer, nil
		}
		if err := d.commit(ctx, f); err != nil {
			return nil, fmt.Errorf("steering %s: %w", p.stored.Object, err)
		}
		return answer, nil
	}
}

// steer finds the placement of a request, and a draft to fill.
func (d *Door) steer(request *api.RolloutRequest) (*steered, *draft, error) {
	table, name := d.records.Place(request.Object)
	stored, revision, found := table.Get(name)
	if !found || table != d.records.Placements {
		return nil, nil, d.records.Missing(request.Object)
	}
	if stored.Deleted != nil {
		return nil, nil, &api.Failure{Code: api.CodeConflict, Message: fmt.Sprintf("%s is being deleted: there is nothing to steer", stored.Object), Next: "flotilla describe " + records.Typed(stored.Object)}
	}
	p, err := api.SpecOf[api.Placement](&stored)
	if err != nil {
		return nil, nil, err
	}
	return &steered{Placement: p, stored: &stored, revision: revision, table: name}, d.newDraft(request.By, request.Request), nil
}

// answered is what a request was answered when it was heard first, nil when it was not: a client that got no answer asks
// again, and undoing or resuming twice is something else than once.
func (f *draft) answered(p *steered, request *api.RolloutRequest) *api.RolloutResponse {
	if request.Request == "" {
		return nil
	}
	for _, s := range slices.Backward(f.historyOf(p.Placement)) {
		if s.Request == request.Request {
			action := api.ActionFollowing
			if s.Undo != nil {
				action = api.ActionUndone
			}
			return &api.RolloutResponse{Object: p.stored.Object, Action: action, Revision: s.Index}
		}
	}
	if p.stored.Request == request.Request {
		return &api.RolloutResponse{Object: p.stored.Object, Action: p.stored.Action}
	}
	if first := f.earlier(p.stored.Object, p.stored.Earlier); first != nil {
		return &api.RolloutResponse{Object: p.stored.Object, Action: first.Action}
	}
	return nil
}

// undo goes back to a revision of the placement, with a snapshot that holds the same.
func (f *draft) undo(p *steered, request *api.RolloutRequest) (*api.RolloutResponse, error) {
	past, selected := f.historyOf(p.Placement), f.selected(p.Placement)
	next, err := past.Undo(&selected, request.Revision)
	if err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("undoing %s: %s", p.stored.Object, err), Next: "flotilla rollout history " + records.Typed(p.stored.Object)}
	}
	answer := &api.RolloutResponse{Action: api.ActionUndone}
	if next == nil {
		return &api.RolloutResponse{Action: api.ActionUnchanged, Revision: past.Newest().Index, Notes: []string{"members are to have that already"}}, nil
	}
	if err := f.cutAs(p.Placement, *next, f.brokenSnapshots(p.Key())); err != nil {
		return nil, err
	}
	cut := f.cuts[p.Key()]
	message := fmt.Sprintf("back to revision %d, as revision %d", next.Undo.Of, cut.Index)
	f.audit(records.EventName(p.stored.Object), "RolloutUndone", message)
	answer.Notes = append(answer.Notes, message)
	switch pin := api.PinOf(cut); {
	case pin != nil:
		answer.Notes = append(answer.Notes, staysPinned(pin, p.stored.Object))
	default:
		answer.Notes = append(answer.Notes, "that is what the placement selects")
	}
	if pause := api.PauseOf(p.Annotations); pause != nil {
		answer.Notes = append(answer.Notes, staysPaused(pause, p.stored.Object))
	}
	return answer, nil
}

// pause lets no member move until the rollout is resumed.
func (f *draft) pause(p *steered, request *api.RolloutRequest) (*api.RolloutResponse, error) {
	if pause := api.PauseOf(p.Annotations); pause != nil {
		return &api.RolloutResponse{Action: api.ActionUnchanged, Notes: []string{pause.String()}}, nil
	}
	if len(request.Reason) > maxReason || !api.Printable(request.Reason) {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("pausing %s: expected a reason of at most %d printable characters", p.stored.Object, maxReason)}
	}
	pause := &api.Pause{By: request.By.Name, Since: f.now, Reason: request.Reason}
	text, err := json.Marshal(pause)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	p.Annotations = maps.Clone(p.Annotations)
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[api.AnnotationPaused] = string(text)
	f.audit(records.EventName(p.stored.Object), "RolloutPaused", pause.String())
	return &api.RolloutResponse{Action: api.ActionPaused}, f.rewrite(p, api.ActionPaused)
}

// maxReason is how long a reason for a pause may be.
const maxReason = 200

// resume ends a pause, or else what keeps members with an earlier revision.
func (f *draft) resume(p *steered, _ *api.RolloutRequest) (*api.RolloutResponse, error) {
	past := f.historyOf(p.Placement)
	if pause := api.PauseOf(p.Annotations); pause != nil {
		p.Annotations = maps.Clone(p.Annotations)
		delete(p.Annotations, api.AnnotationPaused)
		f.audit(records.EventName(p.stored.Object), "RolloutResumed", "it was "+pause.String())
		answer := &api.RolloutResponse{Action: api.ActionResumed}
		if pin := api.PinOf(past.Newest()); pin != nil {
			answer.Notes = append(answer.Notes, staysPinned(pin, p.stored.Object))
		}
		return answer, f.rewrite(p, api.ActionResumed)
	}
	selected := f.selected(p.Placement)
	next := past.Resume(&selected)
	if next == nil {
		return &api.RolloutResponse{Action: api.ActionUnchanged, Notes: []string{"it is neither paused nor pinned to a revision"}}, nil
	}
	pin := api.PinOf(past.Newest())
	f.audit(records.EventName(p.stored.Object), "RolloutResumed", "it was "+pin.String())
	return &api.RolloutResponse{Action: api.ActionFollowing}, f.cutAs(p.Placement, *next, f.brokenSnapshots(p.Key()))
}

// rewrite stores the placement with other annotations.
func (f *draft) rewrite(p *steered, action string) error {
	tree, err := bodyOf(p.Placement)
	if err != nil {
		return err
	}
	delete(tree, "status")
	next := *p.stored
	if next.Body, err = json.Marshal(tree); err != nil {
		return fmt.Errorf("encoding %s: %w", p.stored.Object, err)
	}
	next.Size, next.Request, next.Action, next.Earlier = len(next.Body), f.request, action, f.past(p.stored, p.revision)
	f.ops = append(f.ops, f.records.Placements.Put(p.table, &next, p.revision))
	return nil
}

func staysPinned(pin *api.Pin, object api.ObjectRef) string {
	return fmt.Sprintf("%s: members stay with it until what is selected changes, or: flotilla rollout resume %s", pin, records.Typed(object))
}

func staysPaused(pause *api.Pause, object api.ObjectRef) string {
	return fmt.Sprintf("%s: no member moves until: flotilla rollout resume %s", pause, records.Typed(object))
}

// keepPause keeps what rollout-pause set of a placement, whatever a document says of it.
func keepPause(doc *document, p *api.Placement, stored *api.Spec) {
	held := ""
	if was, err := api.SpecOf[api.Placement](stored); err == nil {
		held = was.Annotations[api.AnnotationPaused]
	}
	given := p.Annotations[api.AnnotationPaused]
	if given == held {
		return
	}
	p.Annotations = maps.Clone(p.Annotations)
	if given != "" {
		doc.notes = append(doc.notes, "ignored, because the hub sets it: metadata.annotations["+api.AnnotationPaused+"]; flotilla rollout pause does")
	}
	if held == "" {
		delete(p.Annotations, api.AnnotationPaused)
		return
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[api.AnnotationPaused] = held
}

// unpinned notes that what a placement selects now ends a pin.
func (f *draft) unpinned(p *api.Placement, last *api.Snapshot) {
	pin := api.PinOf(last)
	f.ended[p.Key()] = pin
	f.audit(records.EventName(objectOf(p)), "RolloutFollows", "what it selects has changed: it was "+pin.String())
}

func objectOf(p *api.Placement) api.ObjectRef {
	return api.ObjectRef{APIVersion: p.APIVersion, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
}

// noteSteering says in the answer to a change which placements it concerns do not follow it, and which follow again.
func (f *draft) noteSteering() {
	concerned := maps.Clone(f.named)
	for key := range f.cuts {
		concerned[key] = struct{}{}
	}
	for _, key := range slices.Sorted(maps.Keys(concerned)) {
		p := f.placements[key]
		if p == nil {
			stored, _, found := f.records.Placements.Get(key)
			var err error
			if p, err = api.SpecOf[api.Placement](&stored); !found || err != nil {
				continue
			}
		}
		_, named := f.named[key]
		f.tell(objectOf(p), named, f.steeringOf(p))
	}
}

// steeringOf says how a placement is steered.
func (f *draft) steeringOf(p *api.Placement) (notes []string) {
	if pin := f.ended[p.Key()]; pin != nil {
		notes = append(notes, fmt.Sprintf("was %s, and follows what it selects again: that has changed", pin))
	} else if pin := api.PinOf(f.records.Latest(p.Key(), string(p.UID))); pin != nil {
		notes = append(notes, staysPinned(pin, objectOf(p)))
	}
	if pause := api.PauseOf(p.Annotations); pause != nil {
		notes = append(notes, staysPaused(pause, objectOf(p)))
	}
	return notes
}

// tell adds notes to the result of an object, or, with its name, to the first result.
func (f *draft) tell(object api.ObjectRef, named bool, notes []string) {
	switch {
	case named:
		f.note(object, notes...)
	case len(f.results) > 0:
		for _, note := range notes {
			f.results[0].Notes = append(f.results[0].Notes, object.String()+": "+note)
		}
	}
}
