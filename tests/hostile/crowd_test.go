package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// An agent that works, and a person at a terminal, need a quarter of the connections and subscriptions that their credentials take, at
// most.
func TestWhatIsNeededIsFarBelowWhatIsTaken(t *testing.T) {
	g := newGround(t, func(o *dev.Options) { o.Hub.Server.HTTPPort = -1 })
	g.lives()
	_, body := bustest.Get(t, g.fleet.Hub.Server().Monitoring()+"/connz?subs=1&auth=1")
	var found natsserver.Connz
	require.NoError(t, json.Unmarshal([]byte(body), &found))
	seen := map[string]int{}
	for _, c := range found.Conns {
		for prefix, most := range map[string]int{"flotilla-agent/" + victim: server.AgentSubscriptions, "flotilla-cli/": server.PersonSubscriptions} {
			if strings.HasPrefix(c.Name, prefix) {
				seen[prefix]++
				require.LessOrEqual(t, int(c.NumSubs), most/4, "%s has %v", c.Name, c.Subs)
			}
		}
	}
	require.Equal(t, 1, seen["flotilla-agent/"+victim], "%s", body)
	require.Equal(t, 1, seen["flotilla-cli/"], "%s", body)
}

// crowd opens connections with the same credentials of the attacker, each with subscriptions to one subject of its inbox.
func (g *ground) crowd(connections, subscriptions int) (last *nats.Conn, inbox string) {
	g.Helper()
	s := g.fleet.Hub.Server()
	creds := bustest.AgentCreds(g, s, attacker)
	inbox = subjects.Inbox(attacker) + ".flood"
	dropped := make(chan *nats.Msg, 1)
	for range connections {
		nc, err := nats.Connect(s.URL(), nats.UserCredentialBytes(creds), nats.CustomInboxPrefix(subjects.Inbox(attacker)), nats.NoReconnect(),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		require.NoError(g, err)
		g.Cleanup(nc.Close)
		for range subscriptions {
			if _, err = nc.ChanSubscribe(inbox, dropped); err != nil {
				break // it was cut
			}
		}
		last = nc
	}
	require.NoError(g, last.Flush())
	return last, inbox
}

// What a member sends, and has answered to an inbox of its own, is answered to each of its subscriptions. All of them together keep
// nobody else waiting, with a thousand results a second.
func TestAcknowledgementsAreNotMultipliedWithoutEnd(t *testing.T) {
	g := newGround(t)
	sender, inbox := g.crowd(20, 2000)
	subject := g.names.BucketSubject(subjects.Result, subjects.ResultSlotKey(attacker, 0))
	ended := make(chan int, 1)
	stop, began := make(chan struct{}), elsewhen.Now()
	go func() {
		sent := 0
		defer func() { ended <- sent }()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			for due := int(elsewhen.Since(began) / time.Millisecond); sent < due; sent++ {
				_ = sender.PublishRequest(subject, inbox, fmt.Appendf(nil, `{"marker":%q,"turn":%d}`, marker, sent))
			}
		}
	}()
	var worst time.Duration
	for elsewhen.Since(began) < 10*time.Second {
		turn := elsewhen.Now()
		g.lives()
		worst = max(worst, elsewhen.Since(turn))
	}
	close(stop)
	sent := <-ended
	t.Logf("%d results in %s, a change of %s took %s at the longest", sent, elsewhen.Since(began), victim, worst)
	require.Greater(t, sent, 9000, "the attack was one")
	require.NoError(t, sender.Flush(), "and went on to its end")
	require.Less(t, worst, 2*time.Second)
	var member api.MemberCluster
	ask := api.GetRequest{Kind: api.KindMemberCluster, Name: victim}
	require.NoError(t, bus.Request(t.Context(), g.fleet.Client, api.VerbGet, ask, &member, bus.RequestOptions{}))
	require.Equal(t, api.MemberReady, member.Status.State)
}
