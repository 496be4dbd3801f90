package dispatcher_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
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
	stream, err := y.store.Conn.JS.Stream(bustest.Context(t), y.store.Conn.Fleet.Stream(subjects.Commands))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(y.store.Conn.Fleet.CommandDelta("berlin", 0))))
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

// Whatever is released, lost and begun anew, in any order: in the end the index that is stored is what is released, and
// who took in some of it on the way comes to the same.
func TestAnyHistoryEndsWithWhatIsReleased(t *testing.T) {
	y := newYard(t)
	stream, err := y.store.Conn.JS.Stream(bustest.Context(t), y.store.Conn.Fleet.Stream(subjects.Commands))
	require.NoError(t, err)
	snapshot := int64(0)
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		y.begin()
		agent := &follower{y: y, member: "berlin"}
		released := map[string]int64{}
		for range 1 + random.IntN(12) {
			switch placement := []string{"a", "b", "c"}[random.IntN(3)]; random.IntN(10) {
			case 0:
				y.stop()
				y.begin()
			case 1:
				slot := random.IntN(4)
				require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(y.store.Conn.Fleet.CommandDelta("berlin", slot))))
				y.reconnect()
			case 2:
				y.enrol("berlin")
			case 3, 4:
				agent.look()
			case 5:
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
		bustest.Eventually(t, func() error {
			agent.look()
			command, _, err := y.command("berlin")
			return errors.Join(err, same(released, command.Entries), same(released, agent.held.Entries))
		})
		for placement := range released {
			y.release(placement, entry("paris", 1))
		}
		y.stop()
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

// reconnect ends the connection of the hub, and returns when it is back and writes.
func (y *yard) reconnect() {
	y.t.Helper()
	back := make(chan struct{}, 1)
	defer y.store.Conn.OnReconnect(func() { back <- struct{}{} })()
	require.NoError(y.t, y.store.Conn.NC.ForceReconnect())
	bustest.Within(y.t, back, "a connection")
	bustest.Eventually(y.t, func() error {
		key := subjects.Releases.Key("reconnected")
		_, err := y.store.Writer.Write(bustest.Context(y.t), store.Put(key, api.Release{Placement: "reconnected"}, y.store.State.Revision(key)))
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

// follower takes in an index as an agent does: the change that comes next, and where there is none the index as it is
// stored whole.
type follower struct {
	y        *yard
	member   string
	held     api.PlacementCommand
	position api.IndexPosition
}

func (f *follower) look() {
	for {
		for len(f.held.Session) > 0 {
			next := api.IndexPosition{Base: f.position.Base, Number: f.position.Number + 1}
			if next.Number > subjects.CommandSlots || f.y.change(&f.held, next) != nil {
				break
			}
			f.position = next
		}
		body, _, err := f.y.store.Commands.Get(bustest.Context(f.y.t), f.member, subjects.CommandPlacement)
		if err != nil {
			return
		}
		command, err := f.y.opened(f.member, body)
		if err != nil || command.Order.Compare(f.held.Order) <= 0 {
			return
		}
		f.held, f.position = command, api.IndexPosition{Base: command.Order}
	}
}
