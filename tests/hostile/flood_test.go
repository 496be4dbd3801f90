package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/hub/dev"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// slowly is a webhook that takes its time with each event, and what it was told of.
type slowly struct {
	mu   sync.Mutex
	told []string
}

func (s *slowly) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	<-time.After(50 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.told = append(s.told, strings.Trim(string(body), `"`))
	}
}

// of waits until the webhook was told of a warning.
func (s *slowly) of(t *testing.T, within time.Duration, warning string) {
	t.Helper()
	bustest.EventuallyIn(t, within, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.Contains(s.told, warning) {
			return fmt.Errorf("of %d events none is %q", len(s.told), warning)
		}
		return nil
	})
}

// hooked sends every warning to a webhook.
func hooked(t *testing.T, s *slowly) func(*dev.Options) {
	receiver := httptest.NewServer(s)
	t.Cleanup(receiver.Close)
	return func(o *dev.Options) {
		o.Hub.Notifications = []configs.Notification{{
			Name: "slow", RetryFor: configs.DefaultRetryFor, When: configs.NotificationFilter{Type: "Warning"},
			Webhook: &configs.Webhook{URL: receiver.URL, Template: `{{ json (print .Object " " .Reason) }}`, Timeout: configs.DefaultWebhookTimeout},
		}}
	}
}

// heartbeat is one of a member, and the subject that it is stored under.
func (g *ground) heartbeat(member string, h api.Heartbeat) *nats.Msg {
	h.Header, h.Member, h.IntervalSeconds = api.NewHeader(api.KindHeartbeat), member, 15
	m := nats.NewMsg(g.names.BucketSubject(subjects.Heartbeat, member))
	m.Data, _ = json.Marshal(h)
	return m
}

// floods sends heartbeats of the attacker of which each says something else, so many as fast as they are stored, and then more as fast as it can
// without waiting; it returns how many that was.
func (g *ground) floods(stored, more int) (sent int, err error) {
	next := func() *nats.Msg {
		what := fmt.Sprint(marker, sent)
		sent++
		return g.heartbeat(attacker, api.Heartbeat{
			Sequence: uint64(sent), Healthy: sent%2 == 0, Message: what, Forbidden: []string{"list " + what}, Renewal: what,
			Properties: map[string]string{"cost": fmt.Sprint("1e", sent)}, Labels: map[string]string{"turn": what, "*" + what: what},
		})
	}
	for ; err == nil && stored > 0; stored-- {
		_, err = g.mallory.RequestMsg(next(), 10*time.Second)
	}
	for ; err == nil && more > 0; more-- {
		err = g.mallory.PublishMsg(next())
	}
	return sent, errors.Join(err, g.mallory.FlushTimeout(time.Minute))
}

// audit leaves the stream of events so much room beyond what it holds, and returns it with the bytes that it holds.
func (g *ground) audit(room int64) (jetstream.Stream, uint64) {
	g.Helper()
	stream, err := g.hub.JS.Stream(bustest.Context(g), g.names.Stream(subjects.Audit))
	require.NoError(g, err)
	info, err := stream.Info(bustest.Context(g))
	require.NoError(g, err)
	info.Config.MaxBytes = int64(info.State.Bytes) + room
	stream, err = g.hub.JS.UpdateStream(bustest.Context(g), info.Config)
	require.NoError(g, err)
	return stream, info.State.Bytes
}

// reasons are those of the events about an object.
func (g *ground) reasons(object string) (reasons []string) {
	g.Helper()
	events, err := streams.ReadAudit(bustest.Context(g), g.hub, streams.AuditQuery{Object: object})
	require.NoError(g, err)
	for _, e := range events {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

// state is that of a member, empty before it has one.
func (g *ground) state(member string) api.MemberState {
	g.Helper()
	var shown api.MemberCluster
	require.NoError(g, bus.Request(bustest.Context(g), g.fleet.Client, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: member}, &shown, bus.RequestOptions{}))
	if shown.Status == nil {
		return ""
	}
	return shown.Status.State
}

// is waits until a member is in a state.
func (g *ground) is(member string, state api.MemberState) {
	g.Helper()
	bustest.Eventually(g, func() error {
		if now := g.state(member); now != state {
			return fmt.Errorf("%s is %s, wanted %s", member, now, state)
		}
		return nil
	})
}

// A member whose heartbeats say something else each time, as many as it may send, fills no history: what people did stays, others are told of
// at once, and one event names it.
func TestAFloodOfChangesIsHeldBack(t *testing.T) {
	const bystander = "paris"
	hook := &slowly{}
	g := newGround(t, hooked(t, hook))
	paris := g.connect(g.fleet.Hub.Server(), bystander)
	g.ask(api.VerbAdmit, api.AdmitRequest{Request: string(uuid.NewUUID()), Name: bystander})
	require.NoError(t, paris.PublishMsg(g.heartbeat(bystander, api.Heartbeat{Healthy: true})))
	g.is(bystander, api.MemberReady)
	require.Contains(t, g.reasons("placement/web"), "Created")
	stream, before := g.audit(256 << 10)

	var sent int
	flooded := make(chan error, 1)
	go func() {
		var err error
		sent, err = g.floods(10_000, 25_000) // with more it is cut
		flooded <- err
	}()
	hook.of(t, 10*time.Second, "member/"+attacker+" MemberNotReady")
	began := elsewhen.Now()
	require.NoError(t, paris.PublishMsg(g.heartbeat(bystander, api.Heartbeat{Message: "its API server is away"})))
	hook.of(t, 10*time.Second, "member/"+bystander+" MemberNotReady")
	took := elsewhen.Since(began)
	require.NoError(t, <-flooded)

	info, err := stream.Info(bustest.Context(t))
	require.NoError(t, err)
	t.Logf("%d heartbeats made %d bytes of events; a warning about %s took %s", sent, info.State.Bytes-before, bystander, took)
	require.Less(t, info.State.Bytes-before, uint64(150<<10))
	require.Contains(t, g.reasons("placement/web"), "Created", "by a person, before all that")
	hook.of(t, 10*time.Second, "member/"+attacker+" "+liveness.ReasonHeldBack)
	told := slices.DeleteFunc(g.reasons("member/"+attacker), func(reason string) bool { return reason != liveness.ReasonHeldBack })
	require.Len(t, told, 1)
	var fleet api.FleetStatus
	require.NoError(t, bus.Request(bustest.Context(t), g.fleet.Client, api.VerbStatus, struct{}{}, &fleet, bus.RequestOptions{}))
	require.True(t, slices.ContainsFunc(fleet.Problems, func(p api.Problem) bool {
		return p.Object == "member/"+attacker && p.Reason == liveness.ReasonHeldBack
	}), "%+v", fleet.Problems)
	require.NoError(t, paris.PublishMsg(g.heartbeat(bystander, api.Heartbeat{Healthy: true})))
	g.is(bystander, api.MemberReady)
	g.is(victim, api.MemberReady)
	g.lives()
}
