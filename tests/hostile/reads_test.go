package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// memory is what the process has from its machine, bytes: the hub's, its server's, and that of the attacker.
func memory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

// readWithoutEnd asks for what lies at a subject of a stream as fast as four connections can, each of which is made anew when it is cut, until
// the returned function is called, which says how often that was. It speaks the protocol itself, so that the memory of the process is the hub's.
func (g *ground) readWithoutEnd(stream, subject string, listens bool) (stop func() (asked int)) {
	g.Helper()
	server := g.fleet.Hub.Server()
	var asked atomic.Int64
	end := bustest.InBackground(g, func(ctx context.Context) {
		var running sync.WaitGroup
		for i := range 4 {
			inbox := fmt.Sprint(subjects.Inbox(attacker), ".read.", i)
			request := fmt.Sprintf("PUB %s %s 0\r\n\r\n", subjects.DirectGet(stream, subject), inbox)
			many := []byte(strings.Repeat(request, 100))
			running.Go(func() {
				for ctx.Err() == nil {
					hears := inbox
					if !listens {
						hears += ".no"
					}
					conn := connectRaw(ctx, strings.TrimPrefix(server.URL(), "nats://"), g.creds, hears)
					for conn != nil {
						if _, err := conn.Write(many); err != nil || ctx.Err() != nil {
							_ = conn.Close()
							conn = nil
							continue
						}
						asked.Add(100)
					}
				}
			})
		}
		running.Wait()
	})
	return func() int { end(); return int(asked.Load()) }
}

// connectRaw connects with credentials, hears what comes to an inbox and throws it away. It returns nil when that fails.
func connectRaw(ctx context.Context, address string, creds []byte, inbox string) net.Conn {
	conn, said, err := bustest.Wire(ctx, address, creds, map[string]any{"no_responders": true})
	if err != nil {
		return nil
	}
	if _, err = fmt.Fprintf(conn, "SUB %s 1\r\n", inbox); err != nil {
		_ = conn.Close()
		return nil
	}
	go func() { _, _ = io.Copy(io.Discard, said); _ = conn.Close() }()
	return conn
}

// What a member asks for and has not been sent yet is bounded: one that asks for the largest content without end takes no memory of the hub,
// keeps nobody waiting, and is named.
func TestReadsWithoutEndAreBounded(t *testing.T) {
	for name, listens := range map[string]bool{"that are heard": true, "that nobody hears": false} {
		t.Run(name, func(t *testing.T) { readsAreBounded(t, listens) })
	}
}

func readsAreBounded(t *testing.T, listens bool) {
	t.Helper()
	g := newGround(t)
	content := bustest.StoreContent(g, g.hub, 512<<10)
	before, most := memory(), uint64(0)
	stop, began := g.readWithoutEnd(g.names.BucketStream(subjects.Content), content, listens), elsewhen.Now()
	var worst time.Duration
	for elsewhen.Since(began) < 8*time.Second {
		turn := elsewhen.Now()
		g.lives()
		worst, most = max(worst, elsewhen.Since(turn)), max(most, memory())
	}
	named := g.problems(health.ReasonReadsRefused)
	asked := stop()
	t.Logf("%d reads in %s, %d MB more, a change of %s took %s at the longest", asked, elsewhen.Since(began), (most-min(most, before))>>20, victim, worst)
	require.Greater(t, asked, 10_000, "the attack was one")
	if listens { // else answers do not slow the attack down, and it has what the processors have
		require.Less(t, worst, 2*time.Second)
	}
	require.Less(t, most, before+500<<20)
	require.Equal(t, []string{"member/" + attacker}, named)
	var member api.MemberCluster
	ask := api.GetRequest{Kind: api.KindMemberCluster, Name: victim}
	require.NoError(t, bus.Request(t.Context(), g.fleet.Client, api.VerbGet, ask, &member, bus.RequestOptions{}))
	require.Equal(t, api.MemberReady, member.Status.State)
	bustest.EventuallyIn(t, 10*time.Second, func() error {
		if now := memory(); listens && now > before+100<<20 { // servers keep for two minutes who is to be answered but left without a word
			return fmt.Errorf("%d MB more are taken than before", (now-before)>>20)
		}
		return nil
	})
}

// problems are the objects that have a problem for a reason.
func (g *ground) problems(reason string) (objects []string) {
	g.Helper()
	var status api.FleetStatus
	require.NoError(g, bus.Request(g.Context(), g.fleet.Client, api.VerbStatus, nil, &status, bus.RequestOptions{}))
	for i := range status.Problems {
		if status.Problems[i].Reason == reason {
			objects = append(objects, status.Problems[i].Object)
		}
	}
	return objects
}

// forged are headers of a read that say who sends it, or hide what the server says of that.
func forged(member string) []string {
	said := `Nats-Request-Info: {"acc":"A","name_tag":"` + member + `","kind":"Client"}`
	return []string{
		"NATS/1.0\n" + said + "\n\n\r\n\r\n", "NATS/1.0\r\n" + said, "NATS/1.0\r\n" + said + "\r\n\r\n\r\n\r\n",
		"NATS/1.0\r\nA: b\n\n\r\n\r\n", "NATS/1.0\r\nX\r\n\r\n",
		"NATS/1.0\r\n" + said + "\r\n\r\n", // servers put the truth in its place
	}
}

// Whoever reads says in no way that somebody else does: nobody is refused, named or cut for it.
func TestNobodyReadsInTheNameOfAnother(t *testing.T) {
	g := newGround(t)
	content := bustest.StoreContent(g, g.hub, 512<<10)
	read := subjects.DirectGet(g.names.BucketStream(subjects.Content), content)
	rome := g.connect(g.fleet.Hub.Server(), "rome")
	for _, header := range forged("rome") {
		inbox := subjects.Inbox(attacker) + ".forged"
		conn := connectRaw(t.Context(), strings.TrimPrefix(g.fleet.Hub.Server().URL(), "nats://"), bustest.AgentCreds(t, g.fleet.Hub.Server(), attacker), inbox)
		require.NotNil(t, conn)
		request := fmt.Sprintf("HPUB %s %s %d %d\r\n%sx\r\n", read, inbox, len(header), len(header)+1, header)
		_, err := conn.Write([]byte(strings.Repeat(request, 300)))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	bustest.Eventually(t, func() error {
		if named := g.problems(health.ReasonReadsRefused); !slices.Equal(named, []string{"member/" + attacker}) {
			return fmt.Errorf("%v are named", named)
		}
		return nil
	})
	found, err := rome.Request(read, nil, 5*time.Second)
	require.NoError(t, err)
	require.Len(t, found.Data, 512<<10)
	require.Zero(t, rome.Stats().Reconnects)
}
