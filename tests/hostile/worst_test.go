package hostile

import (
	"context"
	"flag"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// worstFor is short where other tests run beside this one, which take what they can get too; then nothing is said of how fast the hub is.
var worstFor = flag.Duration("hostile.worst", 5*time.Second, "for how long a member and a viewer do the worst that they can at once; a minute says how fast a hub is meanwhile")

// again does something over a connection with the attacker's credentials, which is made anew when it is cut, until ctx ends.
func (g *ground) again(ctx context.Context, do func(nc *nats.Conn, turn int) error) {
	url := g.fleet.Hub.Server().URL()
	for turn := 0; ctx.Err() == nil; {
		nc, err := nats.Connect(url, nats.UserCredentialBytes(g.creds), nats.CustomInboxPrefix(subjects.Inbox(attacker)), nats.NoReconnect(),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		for err == nil && ctx.Err() == nil {
			err = do(nc, turn)
			turn++
		}
		if nc != nil {
			nc.Close()
		}
	}
}

// attacks has the member and the viewer do their worst until it is stopped, which returns how much that was.
func (g *ground) attacks(content string) (stop func() *attacked) {
	server := g.fleet.Hub.Server()
	viewer, _, err := server.PersonCreds("eve", api.RoleViewer, 0)
	require.NoError(g, err)
	eve := bus.Options{Fleet: "test", URL: server.URL(), CredsText: viewer, Log: zerolog.Nop(), Now: elsewhen.Now}
	large := strings.Repeat("x", 15<<10)
	ofMember := []func(nc *nats.Conn, turn int) error{
		func(nc *nats.Conn, turn int) error {
			what := fmt.Sprint(marker, turn)
			return nc.PublishMsg(g.heartbeat(attacker, api.Heartbeat{Sequence: uint64(turn), Healthy: turn%2 == 0, Message: what, Forbidden: []string{"list " + what}}))
		},
		func(nc *nats.Conn, turn int) error {
			return nc.Publish(g.names.BucketSubject(subjects.Result, subjects.ResultSlotKey(attacker, turn%16)), fmt.Appendf(nil, `{"marker":%q,"turn":%d}`, large, turn))
		},
		func(nc *nats.Conn, turn int) error {
			return nc.Publish(g.names.NodeEvent(attacker, fmt.Sprint("n", turn%20_000)), fmt.Appendf(nil, `{"marker":%q}`, marker))
		},
	}
	var done attacked
	stopReads := g.readWithoutEnd(g.names.BucketStream(subjects.Content), content, true)
	end := bustest.InBackground(g, func(ctx context.Context) {
		var running sync.WaitGroup
		for _, do := range ofMember {
			running.Go(func() {
				g.again(ctx, func(nc *nats.Conn, turn int) error { done.messages.Add(1); return do(nc, turn) })
			})
		}
		for range 64 {
			running.Go(func() { asksWithoutEnd(ctx, eve, &done.requests) })
		}
		running.Go(func() { saysNothing(ctx, strings.TrimPrefix(server.URL(), "nats://"), 500) })
		running.Wait()
	})
	return func() *attacked { end(); done.reads = stopReads(); return &done }
}

// attacked is what was sent.
type attacked struct {
	messages, requests atomic.Int64
	reads              int
}

// asksWithoutEnd asks a hub for what costs most, over a connection of its own.
func asksWithoutEnd(ctx context.Context, o bus.Options, asked *atomic.Int64) {
	c, err := bus.ConnectClient(ctx, o)
	if err != nil {
		return
	}
	defer c.Close()
	for ctx.Err() == nil {
		for verb, request := range map[string]any{
			api.VerbEvents: api.EventsRequest{Member: "nobody"}, api.VerbList: api.ListRequest{Kind: api.KindMemberCluster}, api.VerbStatus: nil,
		} {
			asked.Add(1)
			_ = bus.Request(ctx, c, verb, request, nil, bus.RequestOptions{Total: 5 * time.Second})
		}
	}
}

// saysNothing holds so many connections open.
func saysNothing(ctx context.Context, address string, connections int) {
	var open []net.Conn
	for range connections {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
			open = append(open, conn)
		}
	}
	<-ctx.Done()
	for _, conn := range open {
		_ = conn.Close()
	}
}

// While a member and a viewer do their worst at once, another member's changes come to it soon, it is Ready, and the hub takes no memory;
// and soon after, nothing of it is left.
func TestTheWorstOfAMemberAndAViewerAtOnce(t *testing.T) {
	g := newGround(t)
	content := bustest.StoreContent(g, g.hub, 512<<10)
	before, most := memory(), uint64(0)
	stop, began := g.attacks(content), elsewhen.Now()
	var worst time.Duration
	for elsewhen.Since(began) < *worstFor {
		turn := elsewhen.Now()
		g.lives()
		worst, most = max(worst, elsewhen.Since(turn)), max(most, memory())
		require.Equal(t, api.MemberReady, g.state(victim))
	}
	named := append(g.problems(health.ReasonMessages), g.problems(health.ReasonReadsRefused)...)
	did := stop()
	t.Logf("%d messages, %d reads, %d requests", did.messages.Load(), did.reads, did.requests.Load())
	require.Greater(t, did.messages.Load(), int64(10_000))
	require.Greater(t, did.reads, 1_000)
	require.Greater(t, did.requests.Load(), int64(100))
	require.Contains(t, named, "member/"+attacker)
	t.Logf("%s, %d MB more, a change of %s took %s at the longest", elsewhen.Since(began), (most-min(most, before))>>20, victim, worst)
	if *worstFor >= time.Minute {
		require.Less(t, worst, 2*time.Second)
	}
	require.Less(t, most, before+500<<20)
	bustest.EventuallyIn(t, 10*time.Second, func() error {
		turn := elsewhen.Now()
		g.lives()
		debug.FreeOSMemory() // the runtime gives back over minutes what nothing refers to
		if took, now := elsewhen.Since(turn), memory(); took > 500*time.Millisecond || now > before+100<<20 {
			return fmt.Errorf("a change takes %s, and there are %d MB more than before", took, (now-min(now, before))>>20)
		}
		return nil
	})
}
