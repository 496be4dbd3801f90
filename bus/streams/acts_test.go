package streams_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// keepActs keeps what people did until the returned function is called, or the test ends.
func keepActs(t *testing.T, c *bus.Conn) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	var err error
	running.Go(func() { err = streams.KeepActs(ctx, c) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait(); require.NoError(t, err) })
	t.Cleanup(stop)
	return stop
}

// did records what a person did, by message, and after each an event of a room.
func did(s *store.Store, messages ...string) {
	for _, m := range messages {
		s.Audit.Record(
			api.Audit{Object: "run/spring", Reason: "Started", By: "anna", Request: "r-" + m, Message: m},
			api.Audit{Object: "member/oslo", Member: "oslo", Reason: "MemberNotReady", By: "registrar", Message: m})
	}
}

// expectActs waits until stream ACTS holds exactly these messages.
func expectActs(t *testing.T, c *bus.Conn, want ...string) {
	t.Helper()
	bustest.Eventually(t, func() error {
		var got []string
		err := streams.Each(bustest.Context(t), c, c.Fleet.Stream(subjects.Acts), jetstream.ConsumerConfig{}, func(m jetstream.Msg, _ *jetstream.MsgMetadata) {
			var e api.Audit
			require.NoError(t, json.Unmarshal(m.Data(), &e))
			require.Equal(t, c.Fleet.Act("run", "spring"), m.Subject())
			got = append(got, e.Message)
		})
		if err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			err = fmt.Errorf("%v are kept, expected %v", got, want)
		}
		return err
	})
}

// What people did is copied once, over hubs that lead after each other or at once, and stays when the audit stream is empty.
func TestActsAreCopiedOnce(t *testing.T) {
	server := bustest.Start(t)
	s := server.Lead(t)
	c := server.Hub(t)
	did(s, "one", "two")
	stop := keepActs(t, c)
	expectActs(t, c, "one", "two")
	stop()
	did(s, "three")
	keepActs(t, c)
	keepActs(t, server.Hub(t))
	did(s, "four", "five", "six")
	expectActs(t, c, "one", "two", "three", "four", "five", "six")

	stream, err := c.JS.Stream(bustest.Context(t), c.Fleet.Stream(subjects.Audit))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(bustest.Context(t)))
	did(s, "seven")
	expectActs(t, c, "one", "two", "three", "four", "five", "six", "seven")
}

// Copies go on where the audit stream was made anew, whose sequences begin at 1, and where stream ACTS was emptied by hand.
func TestActsGoOnAfterStreamsWereEmptied(t *testing.T) {
	server := bustest.Start(t)
	s := server.Lead(t)
	c := server.Hub(t)
	did(s, "one", "two")
	stop := keepActs(t, c)
	expectActs(t, c, "one", "two")
	stop()
	require.NoError(t, c.JS.DeleteStream(bustest.Context(t), c.Fleet.Stream(subjects.Audit)))
	_, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	did(s, "three")
	stop = keepActs(t, c)
	expectActs(t, c, "one", "two", "three")
	stop()

	acts, err := c.JS.Stream(bustest.Context(t), c.Fleet.Stream(subjects.Acts))
	require.NoError(t, err)
	require.NoError(t, acts.Purge(bustest.Context(t)))
	keepActs(t, c)
	did(s, "four")
	expectActs(t, c, "three", "four")
}

// A message that somebody else has put there is named until it is gone.
func TestAForeignActIsNamed(t *testing.T) {
	server := bustest.Start(t)
	s := server.Lead(t)
	c := server.Hub(t)
	did(s, "one")
	stop := keepActs(t, c)
	expectActs(t, c, "one")
	stop()
	ack, err := c.JS.Publish(bustest.Context(t), c.Fleet.Act("run", "spring"), []byte(`{}`))
	require.NoError(t, err)
	said := make(chan string, 1)
	c.Log = c.Log.Hook(zerolog.HookFunc(func(_ *zerolog.Event, _ zerolog.Level, message string) {
		select {
		case said <- message:
		default:
		}
	}))
	keepActs(t, c)
	did(s, "two")
	require.Equal(t, "what people did is not copied, trying again", <-said)
	acts, err := c.JS.Stream(bustest.Context(t), c.Fleet.Stream(subjects.Acts))
	require.NoError(t, err)
	require.NoError(t, acts.DeleteMsg(bustest.Context(t), ack.Sequence))
	expectActs(t, c, "one", "two")
}

// Between tries of a copy that the stream refuses are pauses, each longer than the one before.
func TestARefusedActIsTriedNowAndThen(t *testing.T) {
	server := bustest.Start(t)
	s := server.Lead(t)
	c := server.Hub(t)
	acts, err := c.JS.Stream(bustest.Context(t), c.Fleet.Stream(subjects.Acts))
	require.NoError(t, err)
	config := acts.CachedInfo().Config
	config.MaxMsgSize = 1
	_, err = c.JS.UpdateStream(bustest.Context(t), config)
	require.NoError(t, err)
	tried := make(chan time.Time, 100)
	c.Log = c.Log.Hook(zerolog.HookFunc(func(_ *zerolog.Event, _ zerolog.Level, message string) {
		if message == "what a person did is not copied, trying again" {
			tried <- time.Now()
		}
	}))
	keepActs(t, c)
	did(s, "one")
	began := <-tried
	<-tried
	require.GreaterOrEqual(t, (<-tried).Sub(began), (50+100)*time.Millisecond)
	config.MaxMsgSize = -1
	_, err = c.JS.UpdateStream(bustest.Context(t), config)
	require.NoError(t, err)
	expectActs(t, c, "one")
}

// An event is left out only where a copy says that neither its sequence nor its time is newer.
func TestPlacesInTheAuditStream(t *testing.T) {
	at := func(sequence uint64, second int64) streams.AuditPosition {
		return streams.AuditPosition{Sequence: sequence, Stored: time.Unix(second, 0)}
	}
	for name, c := range map[string]struct {
		newest, event streams.AuditPosition
		before        bool
	}{
		"nothing is copied":     {streams.AuditPosition{}, at(1, 100), true},
		"the next event":        {at(7, 100), at(8, 101), true},
		"at the same time":      {at(7, 100), at(8, 100), true},
		"a clock went back":     {at(7, 100), at(8, 50), true},
		"the stream is another": {at(7, 100), at(1, 200), true},
		"the same event":        {at(7, 100), at(7, 100), false},
		"one of before":         {at(7, 100), at(6, 99), false},
	} {
		require.Equal(t, c.before, streams.Before(c.newest, c.event), name)
	}
}

// What the audit stream still holds is copied again where stream ACTS was emptied, or made anew, while a hub leads.
func TestActsThatAreGoneAreCopiedAgain(t *testing.T) {
	server := bustest.Start(t)
	s := server.Lead(t)
	c := server.Hub(t)
	keepActs(t, c)
	did(s, "one", "two")
	expectActs(t, c, "one", "two")
	require.NoError(t, c.JS.DeleteStream(bustest.Context(t), c.Fleet.Stream(subjects.Acts)))
	_, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	did(s, "three")
	expectActs(t, c, "one", "two", "three")
}
