package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// short makes leases that end while a test waits.
var short = store.LeadOptions{Secrets: bustest.ReadKeys, TTL: time.Second, Renew: 200 * time.Millisecond, Margin: 300 * time.Millisecond, Poll: 100 * time.Millisecond}

// candidate competes in the background; led gets its stores, ended its result.
type candidate struct {
	led    chan *store.Store
	lost   chan error // why a leadership ended
	ended  chan error
	resign context.CancelFunc
}

func compete(t *testing.T, c *bus.Conn, id string) *candidate {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	k := &candidate{led: make(chan *store.Store, 8), lost: make(chan error, 8), ended: make(chan error, 1), resign: cancel}
	go func() {
		k.ended <- store.Lead(ctx, c, id, short, func(ctx context.Context, s *store.Store) error {
			k.led <- s
			<-ctx.Done()
			k.lost <- context.Cause(ctx)
			return nil
		})
		close(k.ended)
	}()
	t.Cleanup(func() {
		cancel()
		for range k.ended {
		}
	})
	return k
}

func TestALeaderIsFollowedAtOnceWhenItResigns(t *testing.T) {
	server := bustest.Start(t)
	first := compete(t, server.Hub(t), "hub-0")
	one := bustest.Within(t, first.led, "hub-0 leads")
	second := compete(t, server.Hub(t), "hub-1")
	bustest.Eventually(t, func() error { return watchers(t, server, subjects.Lease, 1) })
	require.Empty(t, second.led)

	first.resign()
	require.NoError(t, bustest.Within(t, first.ended, "hub-0 ends"))
	two := bustest.Within(t, second.led, "hub-1 leads")
	require.Greater(t, two.Term.Term, one.Term.Term)
	require.Equal(t, "hub-1", two.Term.Holder)
	_, err := one.Writer.Write(bustest.Context(t), store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	require.ErrorIs(t, err, bus.ErrDeposed)
}

// watchers returns nil when so many consumers watch a bucket.
func watchers(t *testing.T, s *bustest.Server, bucket string, want int) error {
	t.Helper()
	c := s.Hub(t)
	defer c.Close()
	stream, err := c.JS.Stream(bustest.Context(t), c.Fleet.BucketStream(bucket))
	if err != nil {
		return err
	}
	if n := stream.CachedInfo().State.Consumers; n != want {
		return fmt.Errorf("%d consumers watch %s", n, bucket)
	}
	return nil
}

// The lease of a hub that was told nothing lasts for the 20 s that the documents promise.
func TestTheLeaseOfProduction(t *testing.T) {
	server := bustest.Start(t)
	c := server.Hub(t)
	ctx, cancel := context.WithCancel(bustest.Context(t))
	defer cancel()
	require.NoError(t, store.Lead(ctx, c, "hub-0", store.LeadOptions{Secrets: bustest.ReadKeys}, func(ctx context.Context, _ *store.Store) error {
		defer cancel()
		stream, err := c.JS.Stream(ctx, c.Fleet.BucketStream(subjects.Lease))
		if err != nil {
			return err
		}
		held, err := stream.GetLastMsgForSubject(ctx, c.Fleet.BucketSubject(subjects.Lease, subjects.LeaseKey))
		if err == nil {
			require.Equal(t, "20s", held.Header.Get("Nats-TTL"))
		}
		return err
	}))
}

// A leader that cannot renew must stop before its lease ends, and another follows when it has ended.
func TestALeaderThatIsCutOffStopsInTime(t *testing.T) {
	server := bustest.Start(t)
	proxy, c := server.ProxiedHub(t)
	first := compete(t, c, "hub-0")
	bustest.Within(t, first.led, "hub-0 leads")
	second := compete(t, server.Hub(t), "hub-1")

	proxy.HoldRequests()
	require.ErrorIs(t, bustest.Within(t, first.lost, "hub-0 stops acting"), bus.ErrDeposed)
	require.Empty(t, second.led, "hub-0 stopped before hub-1 began")
	bustest.Within(t, second.led, "hub-1 leads")
	proxy.Cut()
	second.resign()
	bustest.Within(t, first.led, "hub-0 leads again")
}

func TestRenewalsKeepTheLease(t *testing.T) {
	server := bustest.Start(t)
	first := compete(t, server.Hub(t), "hub-0")
	bustest.Within(t, first.led, "hub-0 leads")
	c := server.Hub(t)
	began := leaseSequence(t, c)
	second := compete(t, c, "hub-1")
	bustest.Eventually(t, func() error {
		if n := leaseSequence(t, c); n < began+8 {
			return fmt.Errorf("%d renewals", n-began)
		}
		return nil
	})
	require.Empty(t, second.led, "nobody else led within the time of eight renewals, longer than the lease")
	require.Empty(t, first.lost)
}

func leaseSequence(t *testing.T, c *bus.Conn) uint64 {
	t.Helper()
	stream, err := c.JS.Stream(bustest.Context(t), c.Fleet.BucketStream(subjects.Lease))
	require.NoError(t, err)
	return stream.CachedInfo().State.LastSeq
}

// A hub that is killed and comes back under its own name need not wait for its own lease to end.
func TestAHubTakesItsOwnLeaseOver(t *testing.T) {
	server := bustest.Start(t)
	proxy, c := server.ProxiedHub(t)
	dead := bustest.Lead(t, c, "hub-0", store.LeadOptions{})
	proxy.HoldRequests() // or it would compete again, under the same name
	again := bustest.Lead(t, server.Hub(t), "hub-0", store.LeadOptions{})
	require.Greater(t, again.Term.Term, dead.Term.Term)
	bustest.Write(t, again, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	proxy.Release()
	_, err := dead.Writer.Write(bustest.Context(t), store.Put("schedule.b", bustest.Schedule("b", 1), 0))
	require.ErrorIs(t, err, bus.ErrDeposed)
}

func TestTheTermIsAboveWhatMembersHold(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	far := uint64(time.Now().Unix()) + 1_000_000
	claim := func(member string, held api.Order) {
		t.Helper()
		require.NoError(t, server.Agent(t, member).PutHeartbeat(bustest.Context(t), api.Heartbeat{Holds: held}))
	}
	for _, member := range []string{"berlin", "oslo", "kyiv"} {
		bustest.Write(t, leader, store.Put(subjects.MemberSpecs.Key(member), api.Spec{UID: "m"}, 0))
	}
	claim("berlin", api.Order{Epoch: 3, Term: far, Generation: 9})
	claim("oslo", api.Order{Epoch: 4, Term: math.MaxUint64, Generation: 1})
	claim("kyiv", api.Order{Epoch: math.MaxUint64, Term: far + 1, Generation: 1})
	claim("stranger", api.Order{Epoch: 5, Term: far + 7, Generation: 1})
	again := bustest.Lead(t, server.Hub(t), "hub-test", store.LeadOptions{})
	require.Equal(t, far+1, again.Term.Term)
	require.Equal(t, uint64(4), again.Term.Epoch, "above what was given out before older data took its place")
	require.Equal(t, uint64(4), bustest.Lead(t, server.Hub(t), "hub-test", store.LeadOptions{}).Term.Epoch, "once")
	require.Equal(t, uint64(1), leader.Term.Epoch)
	require.GreaterOrEqual(t, leader.Term.Term, uint64(time.Now().Unix())-60)
}

func TestCredible(t *testing.T) {
	now := time.Now()
	term := api.Term{Epoch: 5, Term: uint64(now.Unix())}
	s := &store.Store{Term: term}
	for _, held := range []api.Order{{}, {Epoch: 5, Term: term.Term, Generation: 1 << 40}, {Epoch: 1005, Term: uint64(now.AddDate(9, 0, 0).Unix())}} {
		require.True(t, s.Credible(held), "%v", held)
	}
	for _, held := range []api.Order{{Epoch: 1006}, {Term: uint64(now.AddDate(11, 0, 0).Unix())}, {Generation: math.MaxUint64}} {
		require.False(t, s.Credible(held), "%v", held)
	}
}

func TestAnOlderHubDoesNotCompete(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	require.NotZero(t, leader.State.Revision(subjects.LayoutKey), "the leader recorded the layout")
	for want, newer := range map[string]api.Layout{
		fmt.Sprintf("step %d", streams.LayoutStep()+1): {Header: api.NewHeader(api.KindLayout), Step: streams.LayoutStep() + 1},
		fmt.Sprintf("format %d", api.StateFormat+1):    {Header: api.NewHeader(api.KindLayout), Step: streams.LayoutStep(), Format: api.StateFormat + 1},
	} {
		bustest.Write(t, leader, store.Put(subjects.LayoutKey, newer, leader.State.Revision(subjects.LayoutKey)))
		err := store.Lead(bustest.Context(t), server.Hub(t), "hub-1", short, func(context.Context, *store.Store) error { return nil })
		require.ErrorIs(t, err, bus.ErrLayoutNewer)
		require.ErrorContains(t, err, want)
	}
}

func TestAnErrorWhileLeadingEndsLead(t *testing.T) {
	server := bustest.Start(t)
	broken := errors.New("the door cannot open")
	err := store.Lead(bustest.Context(t), server.Hub(t), "hub-0", short, func(context.Context, *store.Store) error { return broken })
	require.ErrorIs(t, err, broken)

	c := server.Hub(t)
	stream, err := c.JS.Stream(t.Context(), c.Fleet.BucketStream(subjects.Lease))
	require.NoError(t, err)
	m, err := stream.GetLastMsgForSubject(t.Context(), c.Fleet.BucketSubject(subjects.Lease, subjects.LeaseKey))
	require.NoError(t, err)
	var held api.Lease
	require.Error(t, json.Unmarshal(m.Data, &held), "the lease was given up")
}

// The server that answers a new leader is behind: it waits until it has seen what its term was written on.
func TestWhoTakesOverWaitsForAllThatWasStored(t *testing.T) {
	server := bustest.Start(t)
	before := server.Lead(t)
	last := bustest.Write(t, before, store.Put("schedule.a", bustest.Schedule("a", 1), 0))[0]
	late := sync.OnceFunc(func() { writeInBackground(t, before, store.Put("schedule.b", bustest.Schedule("b", 1), 0)) })
	ctx, cancel := context.WithCancel(bustest.Context(t))
	after, err := store.TakeOver(ctx, server.Hub(t), before.Term, last+1, late)
	require.NoError(t, err)
	defer after.Wait()
	defer cancel()
	require.Equal(t, last+1, after.State.Revision("schedule.b"))
}

// What is never seen is told of: nobody leads on less.
func TestNobodyTakesOverWithoutWhatWasStored(t *testing.T) {
	server := bustest.Start(t)
	before := server.Lead(t)
	last := bustest.Write(t, before, store.Put("schedule.a", bustest.Schedule("a", 1), 0))[0]
	err := store.Reach(bustest.Context(t), before.State, last+1)
	require.EqualError(t, err, fmt.Sprintf("state is listed up to message %d, and %d was stored: the server that was asked is behind, or lost it", last, last+1))
}

// Secrets that cannot be read for a while are no other fleet's: the hub leads with those that it read before, or reads them again. A
// hub that could read them, and holds another fleet's, ends.
func TestSecretsThatCannotBeReadEndNoHub(t *testing.T) {
	unread := errors.New("open secrets.json: too many open files")
	other := bustest.Keys()
	other.Digests[0]++
	for name, row := range map[string]struct {
		first  *seal.Keyring
		unread error
		ends   bool
	}{
		"none were read before":               {nil, unread, false},
		"those of before do":                  {bustest.Keys(), unread, false},
		"those of before do not, as rotated":  {other, unread, false},
		"they were read, and are not of here": {other, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := bustest.Start(t)
			began := compete(t, server.Hub(t), "hub-0")
			bustest.Within(t, began.led, "the fleet begins")
			began.resign()
			require.NoError(t, bustest.Within(t, began.ended, "its first hub ends"))
			ctx, cancel := context.WithCancel(bustest.Context(t))
			defer cancel()
			reads := 0
			o := short
			o.Secrets = func() (*seal.Keyring, error) {
				if reads++; reads <= 3 {
					return row.first, row.unread
				}
				return bustest.ReadKeys()
			}
			err := store.Lead(ctx, server.Hub(t), "hub-test", o, func(context.Context, *store.Store) error {
				cancel()
				return nil
			})
			if row.ends {
				require.ErrorIs(t, err, streams.ErrSecrets)
				return
			}
			require.NoError(t, err)
			require.GreaterOrEqual(t, reads, 2)
		})
	}
}
