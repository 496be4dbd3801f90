package crowd

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/subjects"
)

// patience is how long a fleet may take to settle.
const patience = 3 * time.Minute

// Settle returns once nothing is on the way: players have reported of all they were told, the hub has seen all that people
// wrote, and nothing was written to state for a while. It fails the test where that does not come within three minutes.
func (f *Fleet) Settle() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	require.NoError(f.t, f.settle(ctx))
}

func (f *Fleet) settle(ctx context.Context) error {
	var last uint64
	var since time.Time
	return f.await(ctx, func(ctx context.Context) error {
		at, err := f.written(ctx)
		if err != nil {
			return err
		}
		if busy := f.busy(); at != last || busy > 0 {
			last, since = at, f.now()
			return fmt.Errorf("%d players have something to report, state is at %d", busy, at)
		}
		if f.now().Sub(since) < f.pace.still {
			return fmt.Errorf("state is at %d since %s", at, since)
		}
		return f.observed(ctx)
	})
}

// observed says that the hub has seen each placement as it is, and that who is silent counts as that.
func (f *Fleet) observed(ctx context.Context) error {
	fleet, err := f.Rows(ctx)
	if err != nil {
		return err
	}
	for i := range fleet.Placements {
		if p := &fleet.Placements[i]; p.Observed < p.Generation {
			return fmt.Errorf("generation %d of placement %s was seen of %d", p.Observed, p.Key, p.Generation)
		}
	}
	return nil
}

// Rows is what the door answers to a viewer who asks for the fleet.
func (f *Fleet) Rows(ctx context.Context) (*overview.Fleet, error) {
	fleet := &overview.Fleet{}
	return fleet, f.askAs(ctx, api.RoleViewer, api.VerbFleet, nil, fleet)
}

// await looks again and again until there is no error, or ctx ends.
func (f *Fleet) await(ctx context.Context, look func(context.Context) error) error {
	tick := time.NewTicker(f.pace.look)
	defer tick.Stop()
	var last error
	for {
		err := look(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), last)
		}
		last = err
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// fallSilent waits until those who are silent count as that.
func (f *Fleet) fallSilent(ctx context.Context) error {
	silent, _ := parted(f.players)
	for _, p := range silent {
		if err := f.await(ctx, func(ctx context.Context) error { return f.memberIs(ctx, p.name, api.MemberUnknown) }); err != nil {
			return err
		}
	}
	return nil
}

// memberIs says what keeps a member from being in a state.
func (f *Fleet) memberIs(ctx context.Context, name string, state api.MemberState) error {
	var m api.MemberCluster
	if err := f.ask(ctx, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: name}, &m); err != nil {
		return err
	}
	if m.Status == nil || m.Status.State != state {
		return fmt.Errorf("member %s is %+v, expected %s", name, m.Status, state)
	}
	return nil
}

// leavesAsPlanned waits until all members are in the states that Start is to leave them in, and a node is going.
func (f *Fleet) leavesAsPlanned(ctx context.Context) error {
	if err := f.await(ctx, f.membersAreAsPlanned); err != nil {
		return err
	}
	return f.await(ctx, f.shrinks)
}

// membersAreAsPlanned says which members are in another state than Start is to leave them in.
func (f *Fleet) membersAreAsPlanned(ctx context.Context) error {
	fleet, err := f.Rows(ctx)
	if err != nil {
		return err
	}
	found := map[api.MemberState]int{}
	for i := range fleet.Members {
		found[fleet.Members[i].Shown()]++
	}
	if want := f.Members(); !maps.Equal(found, want) {
		return fmt.Errorf("members are %v, expected %v", found, want)
	}
	return nil
}

// written is the sequence of the last write of state.
func (f *Fleet) written(ctx context.Context) (uint64, error) {
	stream, err := f.stage().JS.Stream(ctx, f.stage().Fleet.BucketStream(subjects.State))
	if err != nil {
		return 0, err
	}
	return stream.CachedInfo().State.LastSeq, nil
}

// busy counts the players that have yet to report of something.
func (f *Fleet) busy() (count int) {
	for _, p := range f.players {
		p.mu.Lock()
		if len(p.due) > 0 && !p.now.silent || !p.upgrade.due.IsZero() {
			count++
		}
		p.mu.Unlock()
	}
	return count
}
