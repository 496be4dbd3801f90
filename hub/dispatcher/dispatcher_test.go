package dispatcher_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/hub/dispatcher"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// yard is a dispatcher on a real server.
type yard struct {
	t      *testing.T
	server *bustest.Server
	store  *store.Store
	stop   func()
	// keys are those of the agents of members.
	keys map[string]nkeys.KeyPair
	// begun counts dispatchers that were waited for.
	begun int64
}

func newYard(t *testing.T) *yard {
	t.Helper()
	server := bustest.Start(t)
	y := &yard{t: t, server: server, store: server.Lead(t), keys: map[string]nkeys.KeyPair{}}
	for _, name := range []string{"berlin", "oslo", "paris"} {
		y.member(name)
		y.enrol(name)
	}
	return y
}

// run runs a dispatcher until stop, or the end of the test.
func (y *yard) run(o dispatcher.Options) {
	y.t.Helper()
	y.stop = y.runOn(y.store, o)
}

func (y *yard) runOn(store *store.Store, o dispatcher.Options) (stop func()) {
	y.t.Helper()
	ctx, cancel := context.WithCancel(bustest.Context(y.t))
	ended := make(chan error, 1)
	d := dispatcher.New(store, o)
	go func() { ended <- d.Run(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(y.t, <-ended)
		}
	}
	y.t.Cleanup(stop)
	return stop
}

func put[T any](y *yard, family subjects.Family, name string, value T) {
	y.t.Helper()
	table := store.TableOf[T](y.store.State, family)
	_, err := y.store.Writer.Write(bustest.Context(y.t), store.Put(table.Key(name), value, y.store.State.Revision(table.Key(name))))
	require.NoError(y.t, err)
}

func (y *yard) release(placement string, entries ...api.ReleaseEntry) {
	y.t.Helper()
	put(y, subjects.Releases, placement, api.Release{Header: api.NewHeader(api.KindRelease), Placement: placement, Entries: entries})
}

func entry(member string, snapshot int64) api.ReleaseEntry {
	return api.ReleaseEntry{Member: member, UID: "u", Snapshot: snapshot, Work: fmt.Sprintf("work-%d", snapshot), Generation: snapshot}
}

// command reads what a member would read now.
func (y *yard) command(member string) (api.PlacementCommand, streams.CommandHead, error) {
	body, _, err := y.store.Commands.Get(bustest.Context(y.t), member, subjects.CommandPlacement)
	if err != nil {
		return api.PlacementCommand{}, streams.CommandHead{}, err
	}
	head, err := y.store.Commands.Head(bustest.Context(y.t), member, subjects.CommandPlacement)
	if err != nil {
		return api.PlacementCommand{}, head, err
	}
	command, err := y.opened(member, body)
	for n := 1; err == nil && n <= head.Position.Number; n++ {
		err = y.change(&command, api.IndexPosition{Base: head.Position.Base, Number: n})
	}
	return command, head, err
}

// change makes the change in a position to an index, as the agent of its member would.
func (y *yard) change(command *api.PlacementCommand, position api.IndexPosition) error {
	f := y.store.Conn.Fleet
	stored, err := y.store.Conn.Direct(bustest.Context(y.t), f.Stream(subjects.Commands), f.CommandDelta(command.Member, position.Number-1))
	if err != nil {
		return err
	}
	body, err := seal.Open(seal.Change(command.Member, command.Session, position), stored.Value, bus.MaxCommand)
	if err != nil {
		return err
	}
	var change api.PlacementDelta
	if err := json.Unmarshal(body, &change); err != nil {
		return err
	}
	require.Equal(y.t, position, change.Position)
	require.Positive(y.t, change.Order.Compare(change.After))
	return amend(command, &change)
}

// amend makes a change to an index.
func amend(command *api.PlacementCommand, change *api.PlacementDelta) error {
	if change.After != command.Order {
		return fmt.Errorf("change %s is of the index of order %s, not of %s", change.Position, change.After, command.Order)
	}
	of := map[string]api.IndexEntry{}
	for _, e := range append(command.Entries, change.Entries...) {
		of[e.Placement] = e
	}
	for _, placement := range change.Gone {
		delete(of, placement)
	}
	command.Order, command.Entries = change.Order, nil
	for _, placement := range slices.Sorted(maps.Keys(of)) {
		command.Entries = append(command.Entries, of[placement])
	}
	return nil
}

// awaits polls until a member's command satisfies want, and returns it.
func (y *yard) awaits(member string, want func(api.PlacementCommand) bool) (got api.PlacementCommand, head streams.CommandHead) {
	y.t.Helper()
	bustest.Eventually(y.t, func() error {
		var err error
		if got, head, err = y.command(member); err != nil {
			return err
		}
		if !want(got) {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	return got, head
}

// told waits until there is an event about a member for a reason.
func (y *yard) told(member, reason string) {
	y.t.Helper()
	bustest.Eventually(y.t, func() error {
		events, err := streams.ReadAudit(bustest.Context(y.t), y.store.Conn, streams.AuditQuery{Object: "member/" + member})
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.Reason == reason {
				return nil
			}
		}
		return errors.New("not told")
	})
}

func holds(snapshots ...int64) func(api.PlacementCommand) bool {
	return func(c api.PlacementCommand) bool {
		if len(c.Entries) != len(snapshots) {
			return false
		}
		for i := range snapshots {
			if c.Entries[i].Snapshot != snapshots[i] {
				return false
			}
		}
		return true
	}
}

func TestACommandIsTheWholeIndexOfAMember(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1), entry("paris", 1))
	y.release("blog", entry("berlin", 4))
	command, head := y.awaits("berlin", holds(4, 1))
	require.Equal(t, "berlin", command.Member)
	require.Equal(t, api.KindPlacementCommand, command.Kind)
	require.Equal(t, []string{"blog", "web"}, []string{command.Entries[0].Placement, command.Entries[1].Placement})
	require.Equal(t, y.store.Term.Term, command.Order.Term)
	require.Equal(t, command.Order, head.Order)
	y.awaits("paris", holds(1))

	withdrawn := entry("berlin", 1)
	withdrawn.Withdrawn, withdrawn.Generation = true, 2
	y.release("web", withdrawn, entry("paris", 1))
	next, _ := y.awaits("berlin", func(c api.PlacementCommand) bool { return len(c.Entries) == 2 && c.Entries[1].Withdrawn })
	require.Positive(t, next.Order.Compare(command.Order))

	y.release("web", entry("paris", 1))
	y.release("blog")
	y.awaits("berlin", holds())
}

func TestAMemberWithoutPlacementsGetsNoCommand(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	// An agent that knows more than the hub, as after a loss of data, is no reason to empty its member.
	put(y, subjects.Members, "paris", api.MemberRecord{
		Header: api.NewHeader(api.KindMemberRecord), Name: "paris", Holds: api.Order{Epoch: 9, Term: 9, Generation: 9},
	})
	y.release("web", entry("berlin", 1))
	y.awaits("berlin", holds(1))
	y.release("web", entry("berlin", 2))
	y.awaits("berlin", holds(2))
	_, _, err := y.command("paris")
	require.ErrorIs(t, err, bus.ErrNotFound, "no index is not an empty index")
}

func TestWhatIsStoredIsNotSentAgain(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1), entry("paris", 1))
	_, before := y.awaits("berlin", holds(1))
	y.awaits("paris", holds(1))
	y.stop()

	y.release("web", entry("berlin", 1), entry("paris", 2))
	y.run(dispatcher.Options{})
	y.awaits("paris", holds(2))
	_, after, err := y.command("berlin")
	require.NoError(t, err)
	require.Equal(t, before, after, "the new dispatcher read the stored digests and left it alone")
}

func TestAMemberThatWasForgottenWhileTheHubWasAwayIsEmptied(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1))
	y.awaits("berlin", holds(1))
	y.stop()
	y.release("web")
	y.run(dispatcher.Options{})
	y.awaits("berlin", holds())
}

func TestBurstsBecomeFewCommandsAndTheFirstIsImmediate(t *testing.T) {
	y := newYard(t)
	const interval = 300 * time.Millisecond
	y.run(dispatcher.Options{Interval: interval})
	start := elsewhen.Now()
	for i := range int64(30) {
		y.release("web", entry("berlin", i+1))
	}
	_, head := y.awaits("berlin", holds(30))
	most := uint64(elsewhen.Since(start)/interval) + 2
	require.LessOrEqual(t, head.Order.Generation, most)
}

func TestTheOrderJumpsPastWhatAnAgentHolds(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1))
	before, _ := y.awaits("berlin", holds(1))
	held := api.Order{Epoch: before.Order.Epoch, Term: before.Order.Term + 100, Generation: 7}
	put(y, subjects.Members, "berlin", api.MemberRecord{Header: api.NewHeader(api.KindMemberRecord), Name: "berlin", Holds: held})
	y.awaits("berlin", func(c api.PlacementCommand) bool {
		return c.Order == api.Order{Epoch: held.Epoch, Term: held.Term, Generation: 8}
	})
	y.release("web", entry("berlin", 2))
	after, _ := y.awaits("berlin", holds(2))
	require.Positive(t, after.Order.Compare(held))
}

func TestAnAgentThatIsTooOldIsReportedInsteadOfSent(t *testing.T) {
	y := newYard(t)
	record := api.MemberRecord{Header: api.NewHeader(api.KindMemberRecord), Name: "berlin", AgentLevel: 1}
	put(y, subjects.Members, "berlin", record)
	y.run(dispatcher.Options{Level: 2})
	y.release("web", entry("berlin", 1), entry("paris", 1))
	y.awaits("paris", holds(1))
	y.told("berlin", "LevelTooLow")
	_, _, err := y.command("berlin")
	require.ErrorIs(t, err, bus.ErrNotFound)

	record.AgentLevel = 2
	put(y, subjects.Members, "berlin", record)
	y.awaits("berlin", holds(1))
}

func TestAForeignCommandIsOverwritten(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1))
	_, head := y.awaits("berlin", holds(1))
	// Somebody else publishes on the subject: the expected sequence does not hold any more.
	_, err := y.store.Commands.Publish(bustest.Context(t), streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement}, api.PlacementCommand{}, head.Sequence)
	require.NoError(t, err)
	y.release("web", entry("berlin", 2))
	y.awaits("berlin", holds(2))
}

func TestTwoHundredMembersAreAllCommanded(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	var entries []api.ReleaseEntry
	for i := range 200 {
		name := fmt.Sprintf("member-%03d", i)
		y.enrol(name)
		entries = append(entries, entry(name, 1))
	}
	start := elsewhen.Now()
	y.release("web", entries...)
	bustest.Eventually(t, func() error {
		heads, err := y.store.Commands.List(bustest.Context(t))
		if err == nil && len(heads) != 200 {
			err = fmt.Errorf("%d commands", len(heads))
		}
		return err
	})
	t.Logf("200 commands in %s", elsewhen.Since(start))
}
