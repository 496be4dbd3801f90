package member_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestAnAgentReportsAcrossTheAccounts(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	require.NoError(t, agent.PutHeartbeat(bustest.Context(t), api.Heartbeat{Boot: "b1", Sequence: 4}))
	require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, "ns/web", api.PlacementResult{UID: "u1"}))

	bustest.Eventually(t, func() error {
		e, ok := store.Heartbeats.Get("berlin")
		if !ok {
			return errors.New("no heartbeat")
		}
		h, err := watch.Decode[api.Heartbeat](e)
		if err != nil || h.Member != "berlin" || h.Sequence != 4 || h.Kind != api.KindHeartbeat || e.Replayed {
			return fmt.Errorf("heartbeat %+v, replayed %v, %w", h, e.Replayed, err)
		}
		return nil
	})
	key := subjects.ResultKey("berlin", "placement", "ns/web")
	bustest.Eventually(t, func() error {
		e, ok := store.Results.Get(key)
		if !ok {
			return fmt.Errorf("no result; there are %v", store.Results.Keys(""))
		}
		r, err := watch.Decode[api.PlacementResult](e)
		require.Equal(t, "u1", r.UID)
		return err
	})
	err := agent.PutResult(bustest.Context(t), "placement", "web", api.PlacementResult{AppliedMessage: strings.Repeat("x", bus.MaxResult)})
	require.ErrorIs(t, err, bus.ErrTooLarge)
}

func TestACommandReachesItsAgent(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	other := server.Agent(t, "paris")
	hints, others := make(chan uint64, 8), make(chan uint64, 8)
	_, err := agent.OnHint(func(kind string, sequence uint64) {
		if kind == subjects.CommandPlacement {
			hints <- sequence
		}
	})
	require.NoError(t, err)
	_, err = other.OnHint(func(_ string, sequence uint64) { others <- sequence })
	require.NoError(t, err)
	_, _, err = agent.Command(bustest.Context(t), subjects.CommandPlacement)
	require.ErrorIs(t, err, bus.ErrNotFound)

	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, Digest: "d1", Order: api.Order{Epoch: 1, Term: 2, Generation: 3}, To: server.SealingKey(t, "berlin")}
	long := api.PlacementCommand{Member: "berlin", Entries: []api.IndexEntry{{Placement: strings.Repeat("w", 2*bus.GzipAbove)}}}
	sequence, err := store.Commands.Publish(bustest.Context(t), head, long, 0)
	require.NoError(t, err)
	require.Equal(t, sequence, bustest.Within(t, hints, "a hint"))
	require.Empty(t, others, "others hear nothing")

	body, stored, err := agent.Command(bustest.Context(t), subjects.CommandPlacement)
	require.NoError(t, err)
	require.Equal(t, sequence, stored)
	require.Contains(t, string(body), strings.Repeat("w", 2*bus.GzipAbove), "and is unpacked")

	_, err = store.Commands.Publish(bustest.Context(t), head, long, sequence+1)
	require.ErrorIs(t, err, bus.ErrConflict)
	next, err := store.Commands.Publish(bustest.Context(t), head, long, sequence)
	require.NoError(t, err)
	head.Sequence, head.Newest, head.To, head.Position.Base = next, next, "", head.Order
	heads, err := store.Commands.List(bustest.Context(t))
	require.NoError(t, err)
	require.Equal(t, []streams.CommandHead{head}, heads)
	_, found, err := store.Commands.Get(bustest.Context(t), "berlin", subjects.CommandPlacement)
	require.NoError(t, err)
	require.Equal(t, head, found)

	require.NoError(t, store.Commands.Purge(bustest.Context(t), "berlin", subjects.CommandPlacement))
	_, _, err = agent.Command(bustest.Context(t), subjects.CommandPlacement)
	require.ErrorIs(t, err, bus.ErrNotFound)
}

// A member can have what it stored of its own sent to where another agent hears of commands, with headers of its choice: that is no hint.
func TestWhatAnotherReadsIsNoHint(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	f := store.Conn.Fleet
	hints := make(chan uint64, 8)
	_, err := server.Agent(t, "berlin").OnHint(func(_ string, sequence uint64) { hints <- sequence })
	require.NoError(t, err)
	beside, _ := bustest.Raw(t, server, "berlin")
	heard, err := beside.SubscribeSync(f.Hint("berlin", subjects.CommandPlacement))
	require.NoError(t, err)
	require.NoError(t, beside.Flush())

	mallory, _ := bustest.Raw(t, server, "mallory")
	forged := nats.NewMsg(f.BucketSubject(subjects.Result, subjects.ResultSlotKey("mallory", 3)))
	forged.Header.Set(bus.HeaderStream, f.Stream(subjects.Commands))
	forged.Header.Set(bus.HeaderSubject, f.Command("berlin", subjects.CommandPlacement))
	forged.Header.Set(bus.HeaderSequence, "1000")
	require.NoError(t, mallory.PublishMsg(forged))
	read := subjects.DirectGet(f.BucketStream(subjects.Result), forged.Subject)
	bustest.Eventually(t, func() error {
		m, err := mallory.Request(read, nil, time.Second)
		if err == nil && m.Header.Get(bus.HeaderStatus) != "" {
			err = errors.New("it is not stored")
		}
		return err
	})
	require.NoError(t, mallory.PublishRequest(read, f.Hint("berlin", subjects.CommandPlacement), nil))
	came, err := heard.NextMsg(10 * time.Second)
	require.NoError(t, err)
	require.NotEmpty(t, came.Header.Values(bus.HeaderSequence), "%v", came.Header)

	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, Digest: "d1", Order: api.Order{Epoch: 1, Term: 2, Generation: 3}, To: server.SealingKey(t, "berlin")}
	sequence, err := store.Commands.Publish(bustest.Context(t), head, api.PlacementCommand{Member: "berlin"}, 0)
	require.NoError(t, err)
	require.Equal(t, sequence, bustest.Within(t, hints, "a hint"), "the first that is one")
}

// What is larger than a member's share allows is refused by the server, whatever the agent looks at.
func TestMessagesBeyondTheirSizeAreRefusedByTheServer(t *testing.T) {
	server := bustest.Start(t)
	f := server.Lead(t).Conn.Fleet
	nc, _ := bustest.Raw(t, server, "berlin")
	for subject, most := range map[string]int{
		f.BucketSubject(subjects.Heartbeat, "berlin"): 65 << 10, f.Inventory("berlin"): 1 << 20, f.NodeInventory("berlin"): 1 << 20, f.NodeEvent("berlin", "n1"): 1 << 20,
	} {
		for size, refused := range map[int]bool{most - 1<<10: false, most + 1: true} {
			answer, err := nc.RequestWithContext(bustest.Context(t), subject, make([]byte, size))
			require.NoError(t, err, subject)
			require.Equal(t, refused, strings.Contains(string(answer.Data), "message size exceeds maximum allowed"), "%s of %d bytes: %s", subject, size, answer.Data)
		}
	}
	agent := server.Agent(t, "berlin")
	require.ErrorIs(t, agent.PutHeartbeat(bustest.Context(t), api.Heartbeat{Message: strings.Repeat("x", 64<<10)}), bus.ErrTooLarge)
	require.ErrorIs(t, agent.PutInventory(bustest.Context(t), api.MemberInventory{Region: bustest.Noise(400 << 10)}), bus.ErrTooLarge)
}

func TestAnAgentCannotLeaveItsPermissions(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	f := store.Conn.Fleet
	nc, refusals := bustest.Raw(t, server, "berlin")
	for name, subject := range map[string]string{
		"another's heartbeat":       f.BucketSubject(subjects.Heartbeat, "paris"),
		"all heartbeats":            f.BucketSubject(subjects.Heartbeat, "*"),
		"another's result":          f.BucketSubject(subjects.Result, subjects.ResultSlotKey("paris", 0)),
		"records":                   f.BucketSubject(subjects.State, "schedule.web"),
		"the term":                  f.BucketSubject(subjects.State, subjects.TermKey),
		"the lease":                 f.BucketSubject(subjects.Lease, subjects.LeaseKey),
		"content":                   f.BucketSubject(subjects.Content, strings.Repeat("0", 64)),
		"its own command":           f.Command("berlin", "placement"),
		"another's event":           f.NodeEvent("paris", "n1"),
		"a hint":                    f.Hint("paris", "placement"),
		"reading another's command": subjects.DirectGet(f.Stream(subjects.Commands), f.Command("paris", "placement")),
		"reading any command":       subjects.DirectGet(f.Stream(subjects.Commands), f.Command("*", "placement")),
		"reading records":           subjects.DirectGet(f.BucketStream(subjects.State), f.BucketSubject(subjects.State, "schedule.web")),
		"purging":                   "$JS.API.STREAM.PURGE." + f.BucketStream(subjects.Result),
		"a consumer":                "$JS.API.CONSUMER.CREATE." + f.BucketStream(subjects.Result),
		"the hub's service":         f.API(api.RoleAdmin, "admin", api.VerbApply),
		"NATS services":             "$SRV.PING",
		"another's inbox":           subjects.Inbox("paris") + ".x",
	} {
		require.NoError(t, nc.PublishRequest(subject, subjects.Inbox("berlin")+".r", []byte("forged")))
		require.ErrorContains(t, bustest.Within(t, refusals, name), "Permissions Violation for Publish", name)
	}
	for name, subject := range map[string]string{
		"another's hints":   f.Hint("paris", "*"),
		"all hints":         f.Hint("*", "placement"),
		"commands":          f.Command("berlin", "placement"),
		"another's inbox":   subjects.Inbox("paris") + ".>",
		"everything":        ">",
		"another's results": f.BucketSubject(subjects.Result, "paris.>"),
	} {
		_, err := nc.SubscribeSync(subject)
		require.NoError(t, err)
		require.ErrorContains(t, bustest.Within(t, refusals, name), "Permissions Violation for Subscription", name)
	}
	require.Empty(t, store.Heartbeats.Keys(""))
	require.Empty(t, store.Results.Keys(""))
}

// What an agent may write it must not be able to write in ways that reach further: no roll-up of the
// bucket, no schedule, no time to live, no key with a wildcard, no answer into another's inbox.
func TestAnAgentCannotReachFurtherWithHeaders(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	f := store.Conn.Fleet
	paris := server.Agent(t, "paris")
	require.NoError(t, paris.PutHeartbeat(bustest.Context(t), api.Heartbeat{Boot: "p"}))
	require.NoError(t, paris.PutResult(bustest.Context(t), "placement", "web", api.PlacementResult{UID: "p"}))
	nc, _ := bustest.Raw(t, server, "berlin")
	js, err := jetstream.New(nc)
	require.NoError(t, err)

	own := f.BucketSubject(subjects.Heartbeat, "berlin")
	for _, headers := range []nats.Header{
		{"Nats-Rollup": {"all"}},
		{"Nats-Rollup": {"sub"}},
		{"Nats-TTL": {"1s"}},
		{"Nats-Schedule": {"@at " + time.Now().Format(time.RFC3339)}, "Nats-Schedule-Target": {f.BucketSubject(subjects.Heartbeat, "paris")}},
		{"Nats-Batch-Id": {"x"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}},
	} {
		_, err := js.PublishMsg(bustest.Context(t), &nats.Msg{Subject: own, Header: headers, Data: []byte("{}")})
		require.Error(t, err, "%v", headers)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "%v", headers)
	}
	slot := subjects.ResultSlotKey("berlin", subjects.ResultSlot("placement", "last"))
	_, err = js.Publish(bustest.Context(t), f.BucketSubject(subjects.Result, slot), []byte(`{"member":"berlin","results":[{"kind":"placement","name":"last","result":{}}]}`))
	require.NoError(t, err)
	bustest.Eventually(t, func() error {
		if keys := store.Results.Keys("berlin."); len(keys) != 1 || keys[0] != "berlin.placement.last" {
			return fmt.Errorf("keys of berlin are %v", keys)
		}
		return nil
	})
	bustest.Eventually(t, func() error {
		if _, ok := store.Heartbeats.Get("paris"); !ok {
			return errors.New("the heartbeat of paris is not there")
		}
		return nil
	})
	require.Len(t, store.Results.Keys("paris."), 1)
	_, err = js.Publish(bustest.Context(t), own, []byte(strings.Repeat("x", 2*bus.MaxHeartbeat)))
	require.ErrorContains(t, err, "message size exceeds maximum")
}

// The acknowledgement of a publish goes to a reply subject that the publisher names. It must not
// become another agent's command, heartbeat or content.
func TestAnAcknowledgementCannotBeForgedIntoState(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	f := store.Conn.Fleet
	nc, _ := bustest.Raw(t, server, "berlin")
	for _, target := range []string{
		f.BucketSubject(subjects.Heartbeat, "paris"), f.Command("paris", "placement"), f.BucketSubject(subjects.State, "schedule.web"),
	} {
		require.NoError(t, nc.PublishRequest(f.BucketSubject(subjects.Heartbeat, "berlin"), target, []byte("{}")))
	}
	require.NoError(t, nc.Flush())
	bustest.Eventually(t, func() error {
		if _, ok := store.Heartbeats.Get("berlin"); !ok {
			return errors.New("the publishes have not arrived")
		}
		return nil
	})
	require.Equal(t, []string{"berlin"}, store.Heartbeats.Keys(""))
	heads, err := store.Commands.List(bustest.Context(t))
	require.NoError(t, err)
	require.Empty(t, heads)
	require.Empty(t, bustest.StoredKeys(t, store.Conn, "schedule.*"))
}

func TestAnAgentConnectsWhenTheServerComes(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	o := server.AgentOptions(t, "berlin")
	server.Stop(t)
	agent, err := member.Connect(bustest.Context(t), o, "berlin")
	require.NoError(t, err)
	t.Cleanup(agent.Close)
	came := make(chan struct{}, 8)
	t.Cleanup(agent.OnConnect(func() { came <- struct{}{} }))
	require.False(t, agent.Connected())
	require.Error(t, agent.PutHeartbeat(bustest.Context(t), api.Heartbeat{}))
	server.Restart(t)
	bustest.Within(t, came, "the agent comes back")
	require.NoError(t, agent.PutHeartbeat(bustest.Context(t), api.Heartbeat{}))
}

// A replica may be behind: what a hub goes by it reads from the leader of the stream, and what it does not find with a
// replica it asks the leader for. Agents ask replicas alone.
func TestHubsReadFromTheLeaderOfAStream(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	member := "berlin"
	asked := func(subject string) *nats.Subscription {
		asked, err := store.Conn.NC.SubscribeSync(subject)
		require.NoError(t, err)
		require.NoError(t, store.Conn.NC.Flush())
		return asked
	}
	count := func(s *nats.Subscription) int {
		t.Helper()
		require.NoError(t, store.Conn.NC.Flush())
		n, _, err := s.Pending()
		require.NoError(t, err)
		return n
	}
	fleet := store.Conn.Fleet
	_, err := store.Commands.Publish(bustest.Context(t), streams.CommandHead{Member: member, Kind: subjects.CommandPlacement}, api.PlacementCommand{}, 0)
	require.NoError(t, err)
	leader := asked(subjects.LastMessage("", fleet.Stream(subjects.Commands)))
	_, _, err = store.Commands.Get(bustest.Context(t), member, subjects.CommandPlacement)
	require.NoError(t, err)
	require.Equal(t, 1, count(leader))
	_, _, err = store.Commands.Get(bustest.Context(t), member, subjects.CommandUpgrade)
	require.ErrorIs(t, err, bus.ErrNotFound)

	digest := bustest.Put(t, store, []byte("a body"))
	leader = asked(subjects.LastMessage("", fleet.BucketStream(subjects.Content)))
	_, err = store.Content.Get(bustest.Context(t), digest)
	require.NoError(t, err)
	require.Zero(t, count(leader), "content never changes: whoever has it may answer")
	_, err = store.Content.Get(bustest.Context(t), store.Keys.Digest([]byte("another body")))
	require.ErrorIs(t, err, bus.ErrNotFound)
	require.Equal(t, 1, count(leader))
	agent := server.Agent(t, member)
	_, err = agent.Content(bustest.Context(t), store.Keys.Piece(digest[1:]).At)
	require.ErrorIs(t, err, bus.ErrNotFound)
	require.Equal(t, 1, count(leader))
}
