package steer

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/door/records"
)

// now is how the placement stands.
func (p *steered) now() *api.Basis {
	b := &api.Basis{ResourceVersion: p.Version(p.revision)}
	if newest := p.History(p.placement).Newest(); newest != nil {
		b.Newest = newest.Index
	}
	return b
}

// basis is what a dry run was decided on, for whoever asks to do the same.
func (p *steered) basis(request *api.RolloutRequest) *api.Basis {
	if !request.DryRun {
		return nil
	}
	return p.now()
}

// asSeen refuses what was asked for of a placement that stood otherwise, and says what is another since.
func (p *steered) asSeen(then *api.Basis) error {
	now := p.now()
	if then == nil || *then == *now {
		return nil
	}
	var changed []string
	if then.Newest != now.Newest {
		newest := p.History(p.placement).Newest()
		changed = append(changed, fmt.Sprintf("its newest revision is %d, made by %s at %s; it was %d", now.Newest, newest.By, newest.Created.UTC().Format(time.RFC3339), then.Newest))
	}
	if then.ResourceVersion != now.ResourceVersion {
		is := fmt.Sprintf("it is at generation %d", p.stored.Generation)
		if pause := api.PauseOf(p.placement.Annotations); pause != nil {
			is += ", " + pause.String()
		}
		changed = append(changed, fmt.Sprintf("%s, resourceVersion %s; it was at %s", is, now.ResourceVersion, then.ResourceVersion))
	}
	return &api.Failure{
		Code: api.CodePrecondition, Next: "flotilla describe " + records.Typed(p.stored.Object),
		Message: fmt.Sprintf("nothing was done: %s changed since you looked: %s", p.stored.Object, phrase.Enumerate(changed)),
	}
}
