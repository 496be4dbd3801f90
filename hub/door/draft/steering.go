package draft

import (
	"fmt"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/hub/door/records"
)

// keepPause keeps what rollout-pause set of a placement, whatever a document says of it.
func keepPause(doc *Document, p *api.Placement, stored *api.Spec) {
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
func (f *Draft) unpinned(p *api.Placement, last *api.Snapshot) {
	pin := api.PinOf(last)
	f.ended[p.Key()] = pin
	f.audit(records.EventName(RefOf(p)), "RolloutFollows", "what it selects has changed: it was "+pin.String())
}

// RefOf refers to a placement.
func RefOf(p *api.Placement) api.ObjectRef {
	return api.ObjectRef{APIVersion: p.APIVersion, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
}

// noteSteering says in the answer to a change which placements it concerns do not follow it, and which follow again.
func (f *Draft) noteSteering() {
	f.noteFrozenRuns()
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
		f.tell(RefOf(p), named, f.Steering(p))
	}
}

// Steering says how a placement is steered.
func (f *Draft) Steering(p *api.Placement) (notes []string) {
	if pin := f.ended[p.Key()]; pin != nil {
		notes = append(notes, fmt.Sprintf("was %s, and follows what it selects again: that has changed", pin))
	} else if pin := api.PinOf(f.records.Latest(p.Key(), string(p.UID))); pin != nil {
		notes = append(notes, StaysPinned(pin, RefOf(p)))
	}
	if freeze := f.records.Frozen().Of(api.FreezePlacements); freeze != nil {
		notes = append(notes, StaysFrozen(freeze))
	}
	if pause := api.PauseOf(p.Annotations); pause != nil {
		notes = append(notes, StaysPaused(pause, RefOf(p)))
	}
	return notes
}

// tell adds notes to the result of an object, or, with its name, to the first result.
func (f *Draft) tell(object api.ObjectRef, named bool, notes []string) {
	switch {
	case named:
		f.note(object, notes...)
	case len(f.Results) > 0:
		for _, note := range notes {
			f.Results[0].Notes = append(f.Results[0].Notes, object.String()+": "+note)
		}
	}
}

// StaysPinned says that members stay with an earlier revision, and until when.
func StaysPinned(pin *api.Pin, object api.ObjectRef) string {
	return fmt.Sprintf("%s: members stay with it until what is selected changes, or: flotilla rollout resume %s", pin, records.Typed(object))
}

// StaysPaused says that no member moves, and until when.
func StaysPaused(pause *api.Pause, object api.ObjectRef) string {
	return fmt.Sprintf("%s: no member moves until: flotilla rollout resume %s", pause, records.Typed(object))
}
