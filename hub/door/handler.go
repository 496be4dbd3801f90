package door

import (
	"cmp"
	"context"
	"errors"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/hub/door/bundles"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/parts"
)

// tries bounds how often a write is decided again after the records changed under it, and conflictPause is what is waited before.
const (
	tries         = 3
	conflictPause = 20 * time.Millisecond
)

// reading wraps a verb that changes nothing.
func reading[Q any](d *Door, answer func(context.Context, *Q) (any, error)) bus.Handler {
	return looking(d, func(ctx context.Context, request *Q) (any, error) {
		// What agents say is part of what is shown.
		if !d.store.Results.Synced() || !d.store.Heartbeats.Synced() {
			return nil, unavailable(bus.ErrNotSynced)
		}
		return answer(ctx, request)
	})
}

// looking wraps a verb that changes nothing and shows nothing that agents say.
func looking[Q any](d *Door, answer func(context.Context, *Q) (any, error)) bus.Handler {
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		var request Q
		if err := d.open(by, body, &request); err != nil {
			return nil, err
		}
		return answer(ctx, &request)
	}
}

// lanes are in which a person's requests are prepared, one at a time, and wait for their turn: what they apply is read, and large namespaces are
// deleted but for the last part.
type lanes struct{ reading, removing loop.Lanes }

// applying answers requests to apply. Documents are read before the turn, so that nobody waits for that, and one request of a person at
// a time.
func (d *Door) applying() bus.Handler {
	lane := func(ctx context.Context, request *api.ApplyRequest) (func(), error) {
		return d.lanes.reading.Take(ctx, request.By.Name)
	}
	return prepared(d, d.desk.Turn, lane, d.readAhead)
}

// writing wraps a verb whose draft is made at the desk.
func writing[Q any, R any](d *Door, decide func(context.Context, *Q) (R, error)) bus.Handler {
	return deciding(d, d.desk.Turn, decide)
}

// freezing wraps a verb that freezes something or ends that. It waits for no draft: at most while a deletion is stored.
func freezing[Q any, R any](d *Door, decide func(context.Context, *Q) (R, error)) bus.Handler {
	return deciding(d, d.desk.Freezing, decide)
}

// entrance wraps a verb that lets people in or keeps them out. It waits for no draft.
func entrance[Q any, R any](d *Door, decide func(context.Context, *Q) (R, error)) bus.Handler {
	return deciding(d, d.users.Turn, decide)
}

// deciding wraps a verb that changes records, and has nothing to do before its turn.
func deciding[Q any, R any](d *Door, turn loop.Turn, decide func(context.Context, *Q) (R, error)) bus.Handler {
	free := func(context.Context, *Q) (func(), error) { return func() {}, nil }
	return prepared(d, turn, free, func(_ context.Context, request *Q) (func(context.Context) (R, error), error) {
		return func(ctx context.Context) (R, error) { return decide(ctx, request) }, nil
	})
}

// prepared wraps a verb that changes records: in its turn, once for each id of a person's request, and decided again when
// the records changed meanwhile. What can be done before the turn is, in a lane of the person. Nothing is stored for a person who
// was revoked before, however long they waited.
func prepared[Q any, R any](d *Door, turn loop.Turn, lane func(context.Context, *Q) (func(), error), prepare func(context.Context, *Q) (func(context.Context) (R, error), error)) bus.Handler {
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		var request Q
		if err := d.open(by, body, &request); err != nil {
			return nil, err
		}
		leave, err := lane(ctx, &request)
		if err != nil {
			return nil, cmp.Or(ctx.Err(), err)
		}
		defer leave()
		id := requestID(&request)
		ahead := &bundles.Ahead{}
		defer ahead.Free()
		store := storing{desk: d.desk, by: by.Name, ahead: ahead}
		defer store.end()
		for {
			if first, found := d.answers.get(id); found {
				return first, nil
			}
			decide, err := prepare(ctx, &request)
			if err != nil {
				return nil, err
			}
			answer, err := decided(ahead.In(ctx), d, turn, by, id, decide)
			switch {
			case errors.Is(err, parts.ErrMore):
			case errors.Is(err, bundles.ErrLater):
				if err := store.now(ctx); err != nil {
					return nil, translate(err)
				}
			default:
				return answer, err
			}
		}
	}
}

// storing stores what one request stores before its turn, in a lane of whoever asks.
type storing struct {
	desk  *draft.Desk
	by    string
	ahead *bundles.Ahead
	leave func()
}

// now stores what the request left for it. Who has to wait for others of the person holds nothing meanwhile, and decides again.
func (s *storing) now(ctx context.Context) (err error) {
	if s.leave == nil {
		free := false
		if s.leave, free = s.desk.Storing.Try(s.by); !free {
			s.ahead.Forget()
			s.leave, err = s.desk.Storing.Take(ctx, s.by)
			return err
		}
	}
	return s.ahead.Do(ctx)
}

func (s *storing) end() {
	if s.leave != nil {
		s.leave()
	}
}

// decided has a request of a person decided in a turn, unless it was.
func decided[R any](ctx context.Context, d *Door, turn loop.Turn, by api.Caller, id string, decide func(context.Context) (R, error)) (any, error) {
	if err := turn.Take(ctx); err != nil {
		return nil, err
	}
	defer turn.Leave()
	if first, found := d.answers.get(id); found {
		return first, nil
	}
	if !d.store.State.Synced() { // it was, before this one waited for others
		return nil, unavailable(bus.ErrNotSynced)
	}
	if failure := roomStill(ctx); failure != nil {
		return nil, failure
	}
	var answer R
	var err error
	for try := range tries {
		if try > 0 {
			loop.Pause(ctx, conflictPause)
		}
		current, refusal := d.users.While(ctx, by)
		if refusal != nil {
			return nil, refusal
		}
		if answer, err = decide(current); !errors.Is(err, bus.ErrConflict) {
			break
		}
	}
	switch {
	case errors.Is(err, parts.ErrMore):
		return nil, err
	case err != nil:
		return nil, translate(err)
	}
	d.answers.keep(id, answer)
	return answer, nil
}

// open reads a request and notes in it who sent it; it refuses while the records are not synchronised.
func (d *Door) open(by api.Caller, body []byte, request any) error {
	if !d.store.State.Synced() {
		return unavailable(bus.ErrNotSynced)
	}
	return api.ReadRequest(by, body, request)
}

// requestID is the id under which the answer to a request that writes is remembered. Dry runs have none, nor have requests whose answers
// hold credentials.
func requestID(request any) string {
	switch r := request.(type) {
	case *api.ApplyRequest:
		return unlessDry(r.Request, r.DryRun)
	case *api.PatchRequest:
		return unlessDry(r.Request, r.DryRun)
	case *api.DeleteRequest:
		return unlessDry(r.Request, r.DryRun)
	case *api.RolloutRequest:
		return unlessDry(r.Request, r.DryRun)
	case *api.FreezeRequest:
		return unlessDry(r.Request, r.DryRun)
	case *api.ApproveWithdrawalRequest:
		return unlessDry(r.Request, r.DryRun)
	case *api.AdmitRequest:
		return r.Request
	}
	return ""
}

func unlessDry(id string, dry bool) string {
	if dry {
		return ""
	}
	return id
}
