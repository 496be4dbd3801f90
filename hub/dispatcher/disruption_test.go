package dispatcher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/dispatcher"
	"flotilla/subjects"
)

var decided = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// disrupted is a disruption of one node, with all that people read.
func disrupted(id, phase string) api.Disruption {
	return api.Disruption{
		ID: id, Reason: "Underutilized", Method: "single", Phase: phase, Message: "waiting", Nodes: []string{"n1"},
		UIDs: map[string]string{"n1": "u1"}, Replacements: []api.NodeReplacement{{Name: id + "-0", Pool: "general", InstanceTypes: []string{"d2"}}},
		Moves: []api.PodMove{{Pod: "default/web", To: "new-0"}}, Killed: []api.KilledPod{{Code: "PDBBlocks"}}, Savings: api.Hourly{Amount: 0.2}, Decided: decided, Request: "r1",
	}
}

func over(id string) api.Disruption {
	d := disrupted(id, api.PhaseDone)
	d.Ended = decided
	return d
}

var general = api.PoolTemplate{Name: "general", Hash: "h1"}

func (y *yard) disrupt(member string, all ...api.Disruption) {
	y.t.Helper()
	put(y, subjects.Disruptions, member, api.DisruptionRecord{
		Header: api.NewHeader(api.KindDisruptionRecord), Member: member, Disruptions: all, Pools: []api.PoolTemplate{general},
	})
}

func (y *yard) disruption(member string) (api.DisruptionCommand, streams.CommandHead, error) {
	body, head, err := y.store.Commands.Get(bustest.Context(y.t), member, subjects.CommandDisruption)
	if err != nil {
		return api.DisruptionCommand{}, head, err
	}
	var command api.DisruptionCommand
	require.NoError(y.t, json.Unmarshal(body, &command))
	return command, head, nil
}

// phases are the disruptions of a command, "d1 Draining, d2 Aborted", or "leaving".
func phases(c *api.DisruptionCommand) string {
	var all []string
	for _, d := range c.Disruptions {
		all = append(all, d.ID+" "+d.Phase)
	}
	if c.Leaving {
		all = append(all, "leaving")
	}
	return strings.Join(all, ", ")
}

// awaitsDisruption polls until a member's command has these disruptions.
func (y *yard) awaitsDisruption(member, want string) (got api.DisruptionCommand, head streams.CommandHead) {
	y.t.Helper()
	bustest.Eventually(y.t, func() error {
		var err error
		if got, head, err = y.disruption(member); err != nil {
			return err
		}
		if found := phases(&got); found != want {
			return fmt.Errorf("found %q, expected %q", found, want)
		}
		return nil
	})
	return got, head
}

func TestTheDisruptionsOfAMemberAreCommandedUntilTheyEnd(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.disrupt("berlin", disrupted("d2", api.PhaseLaunching), over("d0"), disrupted("d1", api.PhaseAborted))
	command, head := y.awaitsDisruption("berlin", "d1 Aborted, d2 Launching")
	plain := func(d api.Disruption) api.Disruption {
		d.Message, d.Moves, d.Killed, d.Savings, d.Request = "", nil, nil, api.Hourly{}, ""
		return d
	}
	require.Equal(t, api.DisruptionCommand{
		Header: api.NewHeader(api.KindDisruptionCommand), Member: "berlin", Order: head.Order, Pools: []api.PoolTemplate{general},
		Disruptions: []api.Disruption{plain(disrupted("d1", api.PhaseAborted)), plain(disrupted("d2", api.PhaseLaunching))},
	}, inUTC(command))
	require.Equal(t, y.store.Term.Term, command.Order.Term)

	y.disrupt("berlin", disrupted("d2", api.PhaseDraining), disrupted("d1", api.PhaseAborted))
	next, _ := y.awaitsDisruption("berlin", "d1 Aborted, d2 Draining")
	require.Positive(t, next.Order.Compare(command.Order))
	y.disrupt("berlin", disrupted("d2", api.PhaseDraining), over("d1"))
	y.awaitsDisruption("berlin", "d2 Draining")
	y.disrupt("berlin", over("d2"), over("d1"))
	y.awaitsDisruption("berlin", "")
	body, _, err := y.store.Commands.Get(bustest.Context(t), "berlin", subjects.CommandDisruption)
	require.NoError(t, err)
	require.Contains(t, string(body), `"disruptions":[]`)
	for _, kind := range []string{subjects.CommandPlacement, subjects.CommandUpgrade} {
		_, _, err := y.store.Commands.Get(bustest.Context(t), "berlin", kind)
		require.ErrorIs(t, err, bus.ErrNotFound)
	}
}

// inUTC is a command whose times are as those of the tests.
func inUTC(c api.DisruptionCommand) api.DisruptionCommand {
	c.Disruptions = slices.Clone(c.Disruptions)
	for i := range c.Disruptions {
		c.Disruptions[i].Decided = metav1.NewTime(c.Disruptions[i].Decided.UTC())
	}
	return c
}

func TestWhatOnlyPeopleReadIsNoNewCommand(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.disrupt("berlin", disrupted("d1", api.PhaseDraining))
	_, before := y.awaitsDisruption("berlin", "d1 Draining")
	other := disrupted("d1", api.PhaseDraining)
	other.Message, other.Moves, other.Killed, other.Savings = "evicting", nil, nil, api.Hourly{Amount: 3}
	y.disrupt("berlin", over("d0"), other)
	y.disrupt("paris", disrupted("d9", api.PhaseLaunching))
	y.awaitsDisruption("paris", "d9 Launching") // the dispatcher has seen the other record by then
	_, after, err := y.disruption("berlin")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestAMemberWithoutDisruptionsGetsNoCommand(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.disrupt("oslo", over("d1"))
	put(y, subjects.Disruptions, "lyon", api.DisruptionRecord{Member: "lyon", Disruptions: []api.Disruption{disrupted("d1", api.PhaseDraining)}})
	y.disrupt("berlin", disrupted("d1", api.PhaseDraining))
	y.awaitsDisruption("berlin", "d1 Draining")
	heads, err := y.store.Commands.List(bustest.Context(t))
	require.NoError(t, err)
	require.Len(t, heads, 1, "oslo's have ended, lyon is not of the fleet")
	erase[api.DisruptionRecord](y, subjects.Disruptions, "berlin")
	y.awaitsDisruption("berlin", "")
}

// A hub takes over from records of which it has only some at first, and from commands that it did not
// send.
func TestATakeoverLeavesDisruptionsThatRunAlone(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	for _, member := range []string{"berlin", "oslo", "paris"} {
		y.disrupt(member, disrupted("d1", api.PhaseDraining))
	}
	old, before := y.awaitsDisruption("berlin", "d1 Draining")
	y.awaitsDisruption("oslo", "d1 Draining")
	y.awaitsDisruption("paris", "d1 Draining")
	y.stop()

	y.disrupt("oslo", over("d1"))
	y.disrupt("paris", disrupted("d1", api.PhaseAborted))
	y.store = y.server.Lead(t)
	y.run(dispatcher.Options{})
	y.awaitsDisruption("oslo", "")
	y.awaitsDisruption("paris", "d1 Aborted")
	_, after, err := y.disruption("berlin")
	require.NoError(t, err)
	require.Equal(t, before, after, "the same command is not sent again")

	y.disrupt("berlin", disrupted("d1", api.PhaseDraining), disrupted("d2", api.PhaseDraining))
	command, _ := y.awaitsDisruption("berlin", "d1 Draining, d2 Draining")
	require.Greater(t, command.Order.Term, old.Order.Term)
	require.Equal(t, uint64(1), command.Order.Generation)
}

// A hub that has been deposed cannot command what no record says, and what the new one sends is ordered
// after all that it sent.
func TestADeposedHubCommandsNothingOfItsOwn(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.disrupt("berlin", disrupted("d1", api.PhaseDraining))
	old, _ := y.awaitsDisruption("berlin", "d1 Draining")
	deposed := y.store
	y.store = y.server.Lead(t)
	y.runOn(y.store, dispatcher.Options{})

	table := store.TableOf[api.DisruptionRecord](deposed.State, subjects.Disruptions)
	_, revision, _ := table.Get("berlin")
	_, err := deposed.Writer.Write(bustest.Context(t), store.Put(table.Key("berlin"), api.DisruptionRecord{Member: "berlin"}, revision))
	require.Error(t, err)
	y.disrupt("berlin", disrupted("d2", api.PhaseLaunching))
	command, _ := y.awaitsDisruption("berlin", "d2 Launching")
	require.Positive(t, command.Order.Compare(old.Order))
	require.GreaterOrEqual(t, command.Order.Term, old.Order.Term)
}

// lines hands over what is logged, as far as somebody waits for it.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

// A record that cannot be read stands for disruptions that may be running: they are not taken back.
func TestABrokenRecordTakesNothingBack(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.disrupt("berlin", disrupted("d1", api.PhaseDraining))
	_, before := y.awaitsDisruption("berlin", "d1 Draining")
	y.stop()
	key := subjects.Disruptions.Key("berlin")
	overwrite := func(value any) {
		t.Helper()
		_, err := y.store.Writer.Write(bustest.Context(t), store.Put(key, value, y.store.State.Revision(key)))
		require.NoError(t, err)
	}
	overwrite("not a record")
	logged := make(lines, 100)
	y.run(dispatcher.Options{Log: zerolog.New(logged)})
	bustest.Eventually(t, func() error {
		select {
		case line := <-logged:
			if !strings.Contains(line, `"disruption:berlin"`) || !strings.Contains(line, "record disruption.berlin") {
				return fmt.Errorf("logged %s", line)
			}
			return nil
		default:
			_, head, err := y.disruption("berlin")
			return fmt.Errorf("nothing is logged; the command is %+v, %w", head, err)
		}
	})
	_, after, err := y.disruption("berlin")
	require.NoError(t, err)
	require.Equal(t, before, after)
	overwrite(api.DisruptionRecord{Member: "berlin"})
	y.awaitsDisruption("berlin", "")
}

func TestDisruptionsWaitForAnAgentThatCanReadThem(t *testing.T) {
	y := newYard(t)
	record := api.MemberRecord{Header: api.NewHeader(api.KindMemberRecord), Name: "berlin", AgentLevel: 1}
	put(y, subjects.Members, "berlin", record)
	y.run(dispatcher.Options{Level: 2})
	y.disrupt("berlin", disrupted("d1", api.PhaseDraining))
	y.told("berlin", "LevelTooLow")
	_, _, err := y.disruption("berlin")
	require.ErrorIs(t, err, bus.ErrNotFound)
	record.AgentLevel = 2
	put(y, subjects.Members, "berlin", record)
	command, _ := y.awaitsDisruption("berlin", "d1 Draining")
	require.Equal(t, 2, command.Level)
}

// delete asks for the deletion of a member, as the door would.
func (y *yard) delete(member string) {
	y.t.Helper()
	put(y, subjects.MemberSpecs, member, api.Spec{
		Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: member}, UID: "m", Body: json.RawMessage(`{}`), Deleted: &decided,
	})
}

func TestAMemberThatLeavesIsToldSo(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.disrupt("berlin", disrupted("d1", api.PhaseDraining))
	y.awaitsDisruption("berlin", "d1 Draining")
	y.delete("berlin")
	y.delete("paris")
	y.awaitsDisruption("berlin", "leaving")
	command, _ := y.awaitsDisruption("paris", "leaving")
	require.Empty(t, command.Pools)
	y.release("web", entry("berlin", 1))
	y.awaits("berlin", holds(1))
	y.release("web")
	y.awaits("berlin", holds())

	erase[api.Spec](y, subjects.MemberSpecs, "berlin")
	bustest.Eventually(t, func() error {
		if _, head, err := y.command("berlin"); !errors.Is(err, bus.ErrNotFound) {
			return fmt.Errorf("its index is still there: %+v, %w", head, err)
		}
		return nil
	})
	_, before := y.awaitsDisruption("berlin", "leaving") // its agent may be away
	y.stop()
	y.run(dispatcher.Options{})
	y.member("berlin")
	_, after := y.awaitsDisruption("berlin", "d1 Draining")
	require.Equal(t, before.Order.Generation+1, after.Order.Generation, "back again: a restart told nothing anew")
}

func TestAMemberThatWasNeverAdmittedIsToldNothing(t *testing.T) {
	y := newYard(t)
	put(y, subjects.Members, "lyon", api.MemberRecord{Name: "lyon"})
	y.run(dispatcher.Options{})
	erase[api.MemberRecord](y, subjects.Members, "lyon")
	y.disrupt("berlin", disrupted("d1", api.PhaseDraining))
	y.awaitsDisruption("berlin", "d1 Draining")
	_, _, err := y.disruption("lyon")
	require.ErrorIs(t, err, bus.ErrNotFound)
}

// What nodes are to be stamped with is told though nothing else is on its way, and no longer than the record
// asks for it.
func TestStampsAreToldToTheAgent(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	stamps := []api.PoolStamp{{Pool: "general", Hash: "h1"}}
	record := api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Member: "berlin", Stamps: stamps}
	told := func(want []api.PoolStamp) {
		t.Helper()
		bustest.Eventually(t, func() error {
			command, _, err := y.disruption("berlin")
			if err == nil && !slices.Equal(command.Stamps, want) {
				err = fmt.Errorf("the agent is told %+v", command.Stamps)
			}
			return err
		})
	}
	put(y, subjects.Disruptions, "berlin", record)
	told(stamps)
	record.Stamps = nil
	put(y, subjects.Disruptions, "berlin", record)
	told(nil)
}
