package member_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// handed is what a pursuit handed over so far.
type handed struct {
	reads, none, idle int
	body              string
	sequence          uint64
}

// pursued notes what a pursuit hands over.
type pursued struct {
	mu sync.Mutex
	handed
}

func (p *pursued) options(hub *member.Conn, every time.Duration) member.FollowerOptions {
	count := func(n *int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		*n++
	}
	return member.FollowerOptions{
		Hub: hub, Kind: subjects.CommandUpgrade, Every: every,
		Take: func(_ context.Context, body []byte, sequence uint64) {
			count(&p.reads)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.body, p.sequence = string(body), sequence
		},
		None: func() { count(&p.none) },
		Idle: func(context.Context) { count(&p.idle) },
	}
}

func (p *pursued) look() handed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handed
}

// until waits for what was handed over to be as wanted.
func (p *pursued) until(t *testing.T, what string, ok func(handed) bool) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if now := p.look(); !ok(now) {
			return fmt.Errorf("not %s: %d reads, %d without a command, %d idle, sequence %d, body %s",
				what, now.reads, now.none, now.idle, now.sequence, now.body)
		}
		return nil
	})
}

func pursue(t *testing.T, o member.FollowerOptions, change ...func(*member.Follower)) *member.Follower {
	t.Helper()
	p := member.NewFollower(o)
	for _, f := range change {
		f(p)
	}
	bustest.InBackground(t, func(ctx context.Context) { require.NoError(t, p.Run(ctx)) })
	return p
}

func publishUpgrade(t *testing.T, store *store.Store, generation, last uint64) uint64 {
	t.Helper()
	order := api.Order{Epoch: 1, Term: 1, Generation: generation}
	sequence, err := store.Commands.Publish(bustest.Context(t), streams.CommandHead{Member: "berlin", Kind: subjects.CommandUpgrade, Order: order},
		api.UpgradeCommand{Member: "berlin", Order: order}, last)
	require.NoError(t, err)
	return sequence
}

// forge announces a command of berlin that nobody stored.
func forge(t *testing.T, c *bus.Conn, kind string, sequence uint64) {
	t.Helper()
	m := nats.NewMsg(c.Fleet.Hint("berlin", kind))
	m.Header.Set(bus.HeaderSequence, strconv.FormatUint(sequence, 10))
	m.Header.Set(bus.HeaderStream, c.Fleet.Stream(subjects.Commands))
	m.Header.Set(bus.HeaderSubject, c.Fleet.Command("berlin", kind))
	require.NoError(t, c.NC.PublishMsg(m))
}

func TestACommandIsTakenAtTheStartAndWhenAnnounced(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	_, _, err := agent.Command(bustest.Context(t), subjects.CommandUpgrade)
	require.ErrorIs(t, err, bus.ErrNotFound)
	listening := agent.Subscriptions()
	var p pursued
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- member.NewFollower(p.options(agent, time.Hour)).Run(ctx) }()
	p.until(t, "told that there is none", func(p handed) bool { return p.none > 0 })
	first := publishUpgrade(t, store, 1, 0)
	p.until(t, "the first", func(p handed) bool { return p.sequence == first })
	second := publishUpgrade(t, store, 2, first)
	p.until(t, "the second", func(p handed) bool { return p.sequence == second })
	cancel()
	require.NoError(t, <-ended)
	require.Equal(t, listening, agent.Subscriptions(), "who ended does not listen")
	require.Zero(t, p.look().idle)

	var again pursued
	pursue(t, again.options(agent, time.Hour))
	again.until(t, "the second", func(p handed) bool { return p.sequence == second })
	require.Contains(t, again.look().body, `"generation":2`)
	require.Zero(t, again.look().none)
}

func TestAHintIsChasedAndGivenUp(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	first := publishUpgrade(t, store, 1, 0)
	var p pursued
	follower := pursue(t, p.options(agent, time.Hour), func(p *member.Follower) { p.SetPatience(200 * time.Millisecond) })
	p.until(t, "taken", func(p handed) bool { return p.sequence == first })
	before := p.look().reads
	forge(t, store.Conn, subjects.CommandUpgrade, first+1000)
	p.until(t, "chased", func(now handed) bool { return now.reads >= before+3 })
	bustest.Eventually(t, func() error {
		if hinted := follower.Hinted(); hinted != 0 {
			return fmt.Errorf("%d is still chased", hinted)
		}
		return nil
	})
	second := publishUpgrade(t, store, 2, first)
	p.until(t, "taken after a forged hint", func(p handed) bool { return p.sequence == second })
}

func TestACommandIsTakenWhileAForgedHintIsChased(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	var p pursued
	follower := pursue(t, p.options(agent, time.Hour))
	p.until(t, "begun", func(p handed) bool { return p.none > 0 })
	forge(t, store.Conn, subjects.CommandUpgrade, 1<<60)
	bustest.Eventually(t, func() error {
		if hinted := follower.Hinted(); hinted != 1<<60 {
			return fmt.Errorf("%d is chased", hinted)
		}
		return nil
	})
	sequence := publishUpgrade(t, store, 1, 0)
	p.until(t, "taken", func(p handed) bool { return p.sequence == sequence })
}

func TestHintsOfOtherKindsAreNotFollowed(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	var p pursued
	follower := pursue(t, p.options(server.Agent(t, "berlin"), time.Hour))
	p.until(t, "begun", func(p handed) bool { return p.none > 0 })
	forge(t, store.Conn, subjects.CommandPlacement, 9)
	forge(t, store.Conn, subjects.CommandUpgrade, 3)
	bustest.Eventually(t, func() error {
		if follower.Hinted() == 0 {
			return fmt.Errorf("nothing was heard")
		}
		return nil
	})
	require.Equal(t, uint64(3), follower.Hinted())
}

func TestACommandIsReadNowAndThenWithoutAHint(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	first := publishUpgrade(t, store, 1, 0)
	var p pursued
	pursue(t, p.options(server.Agent(t, "berlin"), 10*time.Millisecond))
	p.until(t, "polled", func(p handed) bool { return p.idle >= 3 && p.reads >= 4 })
	require.Equal(t, first, p.look().sequence)
}

func TestACommandIsReadAgainWhenAskedForAndAfterAReconnect(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	first := publishUpgrade(t, store, 1, 0)
	var p pursued
	follower := pursue(t, p.options(agent, time.Hour))
	p.until(t, "begun", func(p handed) bool { return p.sequence == first })
	for range 3 {
		before := p.look().reads
		follower.Look()
		p.until(t, "read again", func(now handed) bool { return now.reads > before })
	}
	server.Stop(t)
	bustest.Eventually(t, func() error {
		if agent.Connected() {
			return fmt.Errorf("still connected")
		}
		return nil
	})
	before := p.look().reads
	server.Restart(t)
	p.until(t, "read after the reconnect", func(now handed) bool { return now.reads > before })
}

// An agent that comes back to one of several servers reads its command again soon: what was announced meanwhile was not
// heard, and the replica that answers first may be behind. Then it waits for hints as before, and as soon as it is back
// where the server is alone.
func TestACommandIsReadAgainSoonAfterTheConnectionCameUp(t *testing.T) {
	const usual = 10 * time.Second
	waits := func(conn *member.Conn) func() []time.Duration {
		var p pursued
		pursuit := member.NewFollower(p.options(conn, usual))
		return func() []time.Duration { return member.WaitsOnceConnected(pursuit, 6) }
	}
	require.Equal(t, slices.Repeat([]time.Duration{usual}, 6), waits(bustest.Start(t).Agent(t, "berlin"))())

	conn, err := member.Connect(bustest.Context(t), bus.Options{Fleet: "test", URL: bustest.StartServer(t, bustest.ClusterOptions(t)[0]).ClientURL()}, "berlin")
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	bustest.Eventually(t, conn.Up)
	among := waits(conn)
	wanted := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, usual, usual}
	require.Equal(t, wanted, among())
	require.Equal(t, wanted, among(), "again after the next connection")
}

// A member that has what it reads sent to where another hears hints fills that one's link with no more than what comes before the agent stops
// listening. Commands are taken meanwhile, and hints once it listens again.
func TestAFloodWhereHintsComeIsNotListenedTo(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	hint := store.Conn.Fleet.Hint("berlin", subjects.CommandUpgrade)
	var p pursued
	pursue(t, p.options(agent, time.Hour))
	p.until(t, "begun", func(p handed) bool { return p.none > 0 })
	small, large := nats.NewMsg(hint), nats.NewMsg(hint)
	large.Data = make([]byte, 500<<10)
	require.NoError(t, store.Conn.NC.PublishMsg(small))
	require.False(t, agent.WasUnheard())
	require.NoError(t, store.Conn.NC.PublishMsg(large))
	bustest.Eventually(t, func() error {
		if !agent.WasUnheard() {
			return errors.New("it listens")
		}
		return nil
	})
	sequence := publishUpgrade(t, store, 1, 0)
	p.until(t, "taken", func(p handed) bool { return p.sequence == sequence && p.idle == 0 })
	bustest.Eventually(t, func() error {
		if agent.LooksEvery() > 0 {
			return errors.New("it does not listen")
		}
		return nil
	})
	next := publishUpgrade(t, store, 2, sequence)
	p.until(t, "hinted", func(p handed) bool { return p.sequence == next })
}

// A link that is too slow for one such message is lost again and again: the agent listens no more before a message has come.
func TestAnAgentWhoseConnectionsDoNotLastDoesNotListen(t *testing.T) {
	agent := bustest.Start(t).Agent(t, "berlin")
	agent.Disturbed()
	agent.Disturbed()
	require.Zero(t, agent.LooksEvery(), "it did not listen")
	_, err := agent.OnHint(func(string, uint64) {})
	require.NoError(t, err)
	agent.Disturbed()
	require.Zero(t, agent.LooksEvery())
	agent.Disturbed()
	require.Equal(t, 20*time.Second, agent.LooksEvery(), "servers may begin anew, with all agents at once")
}
