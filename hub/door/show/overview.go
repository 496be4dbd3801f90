package show

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/status"
)

// The status of the fleet that goes with its rows is judged from all there is, and that takes its time: it is made anew, beside
// who asks, when it is statusAge old and took a statusShare of that, and while somebody waits when it is statusMost old.
const (
	statusAge   = time.Second
	statusShare = 20
	statusMost  = 15 * time.Second
)

// kept is an answer that is given again for a while. The zero value has none.
type kept struct {
	mu     sync.Mutex
	making sync.Mutex // held while it is made anew
	at     time.Time
	took   time.Duration
	status api.FleetStatus
}

// Fleet answers the rows of all members, placements and runs. The rows hold all of state up to Mark; what status says of the
// fleet is of StatusAt: a second old, and of a fleet over which judging takes long 15 s at most.
func (v *View) Fleet(ctx context.Context, _ *struct{}) (any, error) {
	fleetStatus, judged, err := v.status.of(ctx, v)
	if err != nil {
		return nil, err
	}
	mark, now := v.mark(), v.store.Now()
	fleet := v.board.read(now)
	fleet.Mark, fleet.At, fleet.Status, fleet.StatusAt = mark, metav1.NewTime(now), fleetStatus, metav1.NewTime(judged)
	return fleet, nil
}

func (v *View) mark() string { return fmt.Sprintf("%v.%d", v.store.Term.Epoch, v.store.State.Told()) }

func (k *kept) of(ctx context.Context, v *View) (api.FleetStatus, time.Time, error) {
	status, at, age := k.read(v.store.Now())
	switch {
	case age >= statusMost:
		k.making.Lock()
		defer k.making.Unlock()
		if status, at, age = k.read(v.store.Now()); age < statusMost { // somebody else waited for it too
			return status, at, nil
		}
		err := k.make(ctx, v)
		status, at, _ = k.read(at)
		return status, at, err
	case age >= k.due() && k.making.TryLock(): // unlocked below
		go func() {
			defer k.making.Unlock()
			if err := k.make(context.WithoutCancel(ctx), v); err != nil {
				v.store.Conn.Log.Warn().Err(err).Msg("judging the fleet")
			}
		}()
	}
	return status, at, nil
}

// read is what is kept and how old it is by a clock, beyond any age where nothing is kept or the clock went back.
func (k *kept) read(now time.Time) (status api.FleetStatus, at time.Time, age time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if age = now.Sub(k.at); k.at.IsZero() || age < 0 {
		age = statusMost
	}
	return k.status, k.at, age
}

func (k *kept) due() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(statusAge, statusShare*k.took)
}

func (k *kept) make(ctx context.Context, v *View) error {
	began := v.store.Now()
	answer, err := v.Status(ctx, nil)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.took, k.status = began, v.store.Now().Sub(began), *answer.(*api.FleetStatus)
	return nil
}

// Cells answers where members stand with placements.
func (v *View) Cells(_ context.Context, request *api.CellsRequest) (any, error) {
	if n := len(request.Placements); n > api.MostCells {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("found %d placements, expected at most %d: ask for the others on their own", n, api.MostCells)}
	}
	answer := &overview.Cells{Mark: v.mark(), At: metav1.NewTime(v.store.Now()), Placements: make([]overview.CellsOfOne, len(request.Placements))}
	known := make([][]overview.Standing, len(request.Placements))
	for i, key := range request.Placements {
		answer.Placements[i], known[i] = v.cellsOf(key)
	}
	if err := answer.Fill(known); err != nil {
		return nil, err
	}
	return answer, nil
}

func (v *View) cellsOf(key string) (one overview.CellsOfOne, known []overview.Standing) {
	one.Key = key
	spec, revision, found, err := v.records.Placements.Find(key)
	var p *api.Placement
	if found {
		p, err = v.records.Placement(&store.Entry[api.Spec]{Name: key, Value: spec, Revision: revision})
	}
	if p == nil || err != nil {
		if one.Missing = err == nil; err != nil {
			one.Fault = err.Error()
		}
		return one, nil
	}
	in := v.groundOf(p)
	troubled, left := status.NewFold(in, v.said(key)).Cells(in.Previous, in.JudgeFrom, in.Now, overview.MostTroubled, func(member, state string) {
		known = append(known, overview.Standing{Member: member, State: state})
	})
	for _, c := range troubled {
		one.Troubled = append(one.Troubled, overview.TroubledCell(c))
	}
	one.Left = left
	if verdicts, _, found := v.records.Verdicts.Get(key); found && verdicts.UID == spec.UID {
		one.Verdicts, one.Decided = verdicts.Tally(), verdicts.Generation
		delete(one.Verdicts, "")
	}
	return one, known
}
