package dispatcher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/dispatcher"
	"flotilla/subjects"
)

// snapshotOf waits until a member's index has a placement in a snapshot, and returns the index and its head.
func (y *yard) snapshotOf(member, placement string, snapshot int64) (api.PlacementCommand, streams.CommandHead) {
	y.t.Helper()
	return y.awaits(member, func(c api.PlacementCommand) bool {
		for i := range c.Entries {
			if c.Entries[i].Placement == placement {
				return c.Entries[i].Snapshot == snapshot
			}
		}
		return false
	})
}

// After an index was stored whole what changes of it is stored beside it, until the slots are used up; who holds an
// older index finds the newest either way.
func TestChangesOfAnIndexAreStoredBesideIt(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{Interval: 1})
	y.release("web", entry("berlin", 1))
	_, whole := y.snapshotOf("berlin", "web", 1)
	y.release("blog", entry("berlin", 1))
	_, head := y.snapshotOf("berlin", "blog", 1)
	require.Equal(t, 1, head.Position.Number)
	require.Equal(t, whole.Sequence, head.Sequence, "the index as it was stored whole is still there")
	y.release("blog", entry("paris", 1))
	command, head := y.awaits("berlin", func(c api.PlacementCommand) bool { return len(c.Entries) == 1 })
	require.Equal(t, "web", command.Entries[0].Placement)
	require.Equal(t, 2, head.Position.Number)

	for snapshot := int64(2); head.Position.Number != 0; snapshot++ {
		require.Less(t, snapshot, int64(2*subjects.CommandSlots), "never stored whole again")
		y.release("web", entry("berlin", snapshot))
		_, head = y.snapshotOf("berlin", "web", snapshot)
	}
	require.Greater(t, head.Sequence, whole.Sequence)
	y.release("web", entry("berlin", 1000))
	_, head = y.snapshotOf("berlin", "web", 1000)
	require.Equal(t, 1, head.Position.Number, "slots are used again")
}

// The next hub does not say again what is stored, and stores the index whole once before it changes it.
func TestAnotherTermBeginsWithAWholeIndex(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{Interval: 1})
	y.release("web", entry("berlin", 1))
	y.snapshotOf("berlin", "web", 1)
	y.release("blog", entry("berlin", 1))
	_, before := y.snapshotOf("berlin", "blog", 1)
	require.Equal(t, 1, before.Position.Number)
	y.stop()
	y.run(dispatcher.Options{Interval: 1})
	y.release("other", entry("paris", 1))
	y.snapshotOf("paris", "other", 1)
	_, same, err := y.command("berlin")
	require.NoError(t, err)
	require.Equal(t, before, same)
	y.release("web", entry("berlin", 2))
	_, head := y.snapshotOf("berlin", "web", 2)
	require.Zero(t, head.Position.Number)
	require.Positive(t, head.Order.Compare(before.Order))
	y.release("web", entry("berlin", 3))
	_, head = y.snapshotOf("berlin", "web", 3)
	require.Equal(t, 1, head.Position.Number)
}

// A hub that does not lead any more stored the index once more after the next one had looked: no change is made to that.
func TestNoChangeIsMadeToWhatAnotherStored(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{Interval: 1})
	y.release("web", entry("berlin", 1))
	_, head := y.snapshotOf("berlin", "web", 1)
	foreign, err := head, error(nil)
	foreign.Order.Generation++
	foreign.Digest = "of another"
	foreign.To, err = y.keys["berlin"].PublicKey()
	require.NoError(t, err)
	_, err = y.store.Commands.Publish(bustest.Context(t), foreign, api.PlacementCommand{Member: "berlin", Order: foreign.Order}, head.Sequence)
	require.NoError(t, err)
	y.release("web", entry("berlin", 2))
	_, head = y.snapshotOf("berlin", "web", 2)
	require.Zero(t, head.Position.Number)
	require.Positive(t, head.Order.Compare(foreign.Order))
}

// A broker lost the newest change: the index is stored whole, past any order that was given.
func TestALostChangeIsMadeGood(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{Interval: 1})
	y.release("web", entry("berlin", 1))
	y.snapshotOf("berlin", "web", 1)
	y.release("web", entry("berlin", 2))
	_, before := y.snapshotOf("berlin", "web", 2)
	y.purge("berlin", 0)
	_, lost, err := y.command("berlin")
	require.NoError(t, err)
	require.Zero(t, lost.Position.Number)
	require.NoError(t, y.store.Conn.NC.ForceReconnect())
	_, after := y.snapshotOf("berlin", "web", 2)
	require.Positive(t, after.Order.Compare(before.Order), "the lost change may have been read")
}

// What a change costs to store does not grow with what the member holds.
func TestAChangeIsAsLongAsWhatChanged(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{Interval: 1})
	length := func(placements int, snapshot int64) int {
		for i := range placements {
			y.release(fmt.Sprintf("p%d", i), entry("berlin", snapshot))
		}
		y.awaits("berlin", func(c api.PlacementCommand) bool { return len(c.Entries) >= placements })
		y.release("p0", entry("berlin", snapshot+1))
		_, head := y.snapshotOf("berlin", "p0", snapshot+1)
		if head.Position.Number == 0 { // no slot was left
			y.release("p0", entry("berlin", snapshot+2))
			_, head = y.snapshotOf("berlin", "p0", snapshot+2)
		}
		f := y.store.Conn.Fleet
		m, err := y.store.Conn.Direct(bustest.Context(t), f.Stream(subjects.Commands), f.CommandDelta("berlin", head.Position.Number-1))
		require.NoError(t, err)
		return len(m.Value)
	}
	few := length(2, 10)
	require.InDelta(t, few, length(200, 20), 32) // numbers have other digits
}

// An agent took in a change that the broker lost. What is released before the hub makes that good is no other change in its place, which the agent
// would pass over: the index is stored whole.
func TestWhatIsReleasedAfterALostChange(t *testing.T) {
	y := newYard(t)
	agent := y.agent("berlin")
	index := &followed{}
	defer y.follow(agent, index)()
	holds := func(snapshot int64) {
		t.Helper()
		bustest.Eventually(t, func() error { return same(map[string]int64{"web": snapshot}, index.entries()) })
	}
	y.run(dispatcher.Options{Interval: 2 * time.Second}) // in which all that comes behind the change comes about
	y.release("web", entry("berlin", 1))
	holds(1)
	y.release("web", entry("berlin", 2))
	holds(2)
	held, _ := index.Held()
	require.Equal(t, 1, held.Position.Number)
	y.purge("berlin", 0)
	y.reconnect("other", entry("paris", 1))
	y.release("web", entry("berlin", 3))
	holds(3)
	held, _ = index.Held()
	require.Zero(t, held.Position.Number)
}

// Whatever is released, lost and begun anew, in any order, while the agent is there or away, and another takes its place: in the end it holds what
// is released.
func TestAnyHistoryEndsWithWhatIsReleased(t *testing.T) {
	y := newYard(t)
	agent := y.agent("berlin")
	snapshot := int64(0)
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		y.begin()
		index := &followed{}
		leave := y.follow(agent, index)
		released := map[string]int64{}
		for range 1 + random.IntN(12) {
			switch placement := []string{"a", "b", "c"}[random.IntN(3)]; random.IntN(10) {
			case 0:
				y.stop()
				y.begin()
			case 1:
				y.purge("berlin", random.IntN(4))
				snapshot++
				y.reconnect(placement, entry("berlin", snapshot)) // while it is found out what was lost
				released[placement] = snapshot
			case 2:
				y.enrol("berlin")
			case 3:
				y.takes("berlin")
			case 4:
				leave()
				leave = y.follow(agent, index)
			case 5:
				leave() // until it is there again
			case 6:
				y.release(placement, entry("paris", 1))
				delete(released, placement)
			default:
				snapshot++
				y.release(placement, entry("berlin", snapshot))
				released[placement] = snapshot
			}
		}
		snapshot++
		y.release("last", entry("berlin", snapshot))
		released["last"] = snapshot
		y.takes("berlin")
		leave()
		leave = y.follow(agent, index)
		bustest.Eventually(t, func() error { return same(released, index.entries()) })
		leave()
		for placement := range released {
			y.release(placement, entry("paris", 1))
		}
		y.stop()
	}
}

// agent connects that of a member, with keys of its own.
func (y *yard) agent(name string) *member.Conn {
	y.t.Helper()
	y.takes(name)
	return y.server.Agent(y.t, name)
}

// takes has the agent that connects as a member be the one that is enrolled.
func (y *yard) takes(name string) {
	y.t.Helper()
	put(y, subjects.Identities, name, api.Identity{Name: name, SealingKey: y.server.SealingKey(y.t, name)})
}

// purge has the broker lose a change.
func (y *yard) purge(name string, slot int) {
	y.t.Helper()
	stream, err := y.store.Conn.JS.Stream(bustest.Context(y.t), y.store.Conn.Fleet.Stream(subjects.Commands))
	require.NoError(y.t, err)
	require.NoError(y.t, stream.Purge(bustest.Context(y.t), jetstream.WithPurgeSubject(y.store.Conn.Fleet.CommandDelta(name, slot))))
}

// follow has an agent follow its index until leave is called; again does nothing.
func (y *yard) follow(agent *member.Conn, index *followed) (leave func()) {
	ctx, end := context.WithCancel(bustest.Context(y.t))
	ended := make(chan error, 1)
	f := member.NewFollower(member.FollowerOptions{Hub: agent, Kind: subjects.CommandPlacement, Index: index})
	go func() { ended <- f.Run(ctx) }()
	return sync.OnceFunc(func() {
		end()
		require.NoError(y.t, <-ended)
	})
}

// followed is an index as an agent keeps it: a change is made to the index that it was made of alone, and nothing older is taken.
type followed struct {
	mu       sync.Mutex
	command  api.PlacementCommand
	position api.IndexPosition
}

func (f *followed) entries() []api.IndexEntry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.command.Entries
}

func (f *followed) Held() (member.Held, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return member.Held{Position: f.position, Session: f.command.Session}, len(f.command.Session) > 0
}

func (f *followed) Read(whole []byte) (member.Held, bool) {
	var command api.PlacementCommand
	err := json.Unmarshal(whole, &command)
	return member.Held{Position: api.IndexPosition{Base: command.Order}, Session: command.Session}, err == nil && len(command.Session) > 0
}

func (f *followed) Take(_ context.Context, whole []byte, changes [][]byte, _ uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	command, position := f.command, f.position
	if whole != nil {
		command = api.PlacementCommand{}
		if json.Unmarshal(whole, &command) != nil {
			return
		}
		position = api.IndexPosition{Base: command.Order}
	}
	for _, text := range changes {
		var change api.PlacementDelta
		if json.Unmarshal(text, &change) != nil || amend(&command, &change) != nil {
			return
		}
		position = change.Position
	}
	if command.Order.Compare(f.command.Order) > 0 {
		f.command, f.position = command, position
	}
}

// begin runs a dispatcher, and returns when it publishes.
func (y *yard) begin() {
	y.t.Helper()
	y.run(dispatcher.Options{Interval: 1})
	y.begun++
	y.release("begun", entry("oslo", y.begun))
	y.snapshotOf("oslo", "begun", y.begun)
}

// reconnect ends the connection of the hub, and releases a placement as soon as it is back.
func (y *yard) reconnect(placement string, entries ...api.ReleaseEntry) {
	y.t.Helper()
	back := make(chan struct{}, 1)
	defer y.store.Conn.OnReconnect(func() { back <- struct{}{} })()
	require.NoError(y.t, y.store.Conn.NC.ForceReconnect())
	bustest.Within(y.t, back, "a connection")
	bustest.Eventually(y.t, func() error {
		key, release := subjects.Releases.Key(placement), api.Release{Header: api.NewHeader(api.KindRelease), Placement: placement, Entries: entries}
		_, err := y.store.Writer.Write(bustest.Context(y.t), store.Put(key, release, y.store.State.Revision(key)))
		return err
	})
}

func same(released map[string]int64, entries []api.IndexEntry) error {
	found := map[string]int64{}
	for i := range entries {
		found[entries[i].Placement] = entries[i].Snapshot
	}
	if fmt.Sprint(found) != fmt.Sprint(released) {
		return fmt.Errorf("found %v, wanted %v", found, released)
	}
	return nil
}
