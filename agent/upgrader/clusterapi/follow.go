package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/core/api"
)

// work is an operation that this process follows.
type work struct {
	op *api.UpgradeOperation
	// clean says that nothing was written for it, by this process or another.
	clean bool
	// wrote are the objects that this process wrote for it.
	wrote map[string]bool

	seen  string    // the trace of the Cluster when it last moved
	moved time.Time // when that was
	told  api.UpgradeResult
}

// follow takes the steps of an operation until it has ended.
func (d *Driver) follow(ctx context.Context, w *work, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	w.wrote, w.moved = map[string]bool{}, d.o.Now()
	for {
		state, ended := d.advance(ctx, w)
		switch {
		case ctx.Err() != nil:
			return api.UpgradeResult{}, true, ctx.Err()
		case ended != nil:
			return *ended, true, nil
		}
		if !sameReport(&state, &w.told) {
			w.told = state
			report(state)
		}
		select {
		case <-ctx.Done():
			return api.UpgradeResult{}, true, ctx.Err()
		case <-time.After(d.o.LookEvery):
		}
	}
}

func sameReport(a, b *api.UpgradeResult) bool {
	return a.Percent == b.Percent && a.Message == b.Message && slices.Equal(a.Pools, b.Pools)
}

// advance looks at the Cluster and takes the next step, if there is one to take. It returns how far the operation is, or
// how it ended.
func (d *Driver) advance(ctx context.Context, w *work) (state api.UpgradeResult, ended *api.UpgradeResult) {
	s, err := d.look(ctx)
	if err != nil {
		state = w.told
		state.Message = "the Cluster cannot be read: " + err.Error()
		return state, d.overdue(w, state.Message)
	}
	next := s.next(w)
	state = api.UpgradeResult{Percent: next.percent, Message: next.message, Pools: next.done}
	switch {
	case next.failed != "":
		ended = failed("%s", next.failed)
	case next.over:
		ended = &api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: next.message, Percent: next.percent}
	case next.write != nil:
		ended = d.write(ctx, w, next.write, &state)
	default:
		d.notice(w, s)
		ended = d.overdue(w, next.message)
	}
	if ended != nil {
		ended.Pools = next.done
	}
	return state, ended
}

// notice takes in whether anything moved.
func (d *Driver) notice(w *work, s *survey) {
	if trace := s.trace(); trace != w.seen {
		w.seen, w.moved = trace, d.o.Now()
	}
}

// overdue is the end of an operation in which nothing has moved for too long, nil before that.
func (d *Driver) overdue(w *work, why string) *api.UpgradeResult {
	if d.o.Now().Sub(w.moved) < d.o.Deadline {
		return nil
	}
	return failed("nothing moved for %s: %s; Cluster API goes on with what it was told once that is mended, then start the run again", d.o.Deadline, why)
}

// write writes what the next step is. What the API server refuses for good is the end: blocked while nothing was changed.
func (d *Driver) write(ctx context.Context, w *work, c *change, state *api.UpgradeResult) *api.UpgradeResult {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := d.o.View.Patch(ctx, c.kind, c.name, c.patch)
	switch {
	case err == nil:
		w.clean, w.moved, w.seen, w.wrote[c.what] = false, d.o.Now(), "", true
		return nil
	case apierrors.IsConflict(err):
		return d.overdue(w, err.Error())
	case refused(err) && w.clean:
		b := blocked(fmt.Sprintf("%s cannot be changed: %s", c.what, err))
		return &b
	case refused(err):
		return failed("%s cannot be changed: %s", c.what, err)
	}
	w.clean = false // it may have been written all the same
	state.Message = err.Error()
	return d.overdue(w, err.Error())
}

// refused reports whether an API server said no, not that it cannot now.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err)
}
