package door

import (
	"context"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
)

// verbsOfHubs are those that no person may use: hubs ask them for those whom they let in.
func (d *Door) verbsOfHubs() map[string]bus.Handler {
	verbs := map[string]bus.Handler{
		api.VerbEnter:   entrance(d, d.web.Enter),
		api.VerbSession: looking(d, d.web.Session),
		api.VerbLeave:   entrance(d, d.web.Leave),
	}
	for verb, handler := range verbs {
		verbs[verb] = d.withRoom(verb, handler)
	}
	return verbs
}

// Ask has a verb answered on behalf of somebody without NATS, with the guards of a request that came over it: for a page
// in this process. The answer is what the verb answers, not as JSON, and not to be changed. A refusal is an *api.Failure,
// CodeUnavailable while the door does not answer.
func (d *Door) Ask(ctx context.Context, by api.Caller, verb string, question []byte) (any, error) {
	service := d.service.Load()
	if service == nil {
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "this hub does not answer yet, or any more: ask again"}
	}
	return service.Ask(ctx, by, verb, question)
}

// Link makes a link to the page for somebody that holds for a while.
func (d *Door) Link(ctx context.Context, by api.Caller, life time.Duration) (*api.WebResponse, error) {
	answer, err := writing(d, func(ctx context.Context, _ *struct{}) (*api.WebResponse, error) {
		return d.web.LinkFor(ctx, by, life)
	})(ctx, by, nil)
	if err != nil {
		return nil, err
	}
	return answer.(*api.WebResponse), nil
}
