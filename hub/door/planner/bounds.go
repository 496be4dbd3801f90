package planner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/effort"
)

const (
	// mostPlanning is how long one plan is worked out, mostDrafting how many of one person are drafted at once, and
	// mostWaiting how many are drafted or wait for that.
	mostPlanning = 20 * time.Second
	mostDrafting = 2
	mostWaiting  = 64
	// mostRows is how many members and events of runs one plan holds.
	mostRows = 200_000
)

// planning works on a plan for as long as that may take, or until nobody waits for it.
func planning[A any](ctx context.Context, work func(context.Context) (A, error)) (any, error) {
	within, over := context.WithTimeout(ctx, mostPlanning)
	defer over()
	answer, err := work(within)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case within.Err() != nil:
		return nil, &api.Failure{
			Code: api.CodeLimit, Next: "flotilla plan --help",
			Message: fmt.Sprintf("the plan takes longer than %s to work out, and was given up: plan fewer documents, or fewer runs, at a time", mostPlanning),
		}
	case err != nil:
		return nil, err
	}
	return answer, nil
}

// ended tells work when nobody waits for it any more.
func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

// drafted is the draft of documents that is not committed. It has no turn of those who write: what they store meanwhile it
// may show in part.
func (p *Planner) drafted(ctx context.Context, by api.Caller, documents *draft.Documents) (*draft.Draft, error) {
	leave, err := p.lanes.Take(ctx, by.Name)
	if errors.Is(err, loop.ErrCrowded) {
		return nil, &api.Failure{Code: api.CodeLimit, Message: fmt.Sprintf("%d plans of yours are being worked out already: wait for them", mostWaiting), Next: "flotilla plan --help"}
	}
	if err != nil {
		return nil, err
	}
	defer leave()
	f := p.desk.New(draft.Door(), "")
	f.Planning = effort.Until(ended(ctx))
	return f, f.Apply(ctx, documents)
}
