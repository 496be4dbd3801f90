package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/tests/elsewhen"
)

var (
	viewer   = api.Caller{Name: "vera", Role: api.RoleViewer, Address: "192.0.2.7", Request: "r1"}
	operator = api.Caller{Name: "olga", Role: api.RoleOperator}
)

// led is a hub that leads and one that does not, on one server.
type led struct {
	server  *bustest.Server
	leader  *bus.Conn
	from    *bus.Conn // of the other
	other   *bus.Forwarder
	service *bus.Service
	asked   *askings
	// remembered is an option of the service.
	remembered int
}

func forwarding(t *testing.T) *led { return remembering(t, 0) }

// remembering is forwarding, with a service that remembers so many requests.
func remembering(t *testing.T, most int) *led {
	t.Helper()
	l := &led{server: bustest.Start(t), asked: &askings{}, remembered: most}
	l.leader = l.server.Hub(t)
	l.serve(t, map[string]bus.Handler{
		api.VerbGet: l.asked.handler(api.VerbGet), api.VerbApply: l.asked.handler(api.VerbApply), api.VerbFreeze: l.asked.handler(api.VerbFreeze),
	})
	l.from = l.server.Hub(t)
	l.other = bus.NewForwarder(l.from, bustest.Keys())
	return l
}

func (l *led) serve(t *testing.T, verbs map[string]bus.Handler) {
	t.Helper()
	if l.service != nil {
		l.service.Stop()
	}
	var err error
	l.service, err = bus.Serve(context.WithoutCancel(t.Context()), l.leader, bus.ServiceOptions{
		Keys: bustest.Keys(), Remembered: l.remembered, OfHubs: map[string]bus.Handler{api.VerbSession: l.asked.handler(api.VerbSession), api.VerbEnter: l.asked.handler(api.VerbEnter)},
	}, verbs)
	require.NoError(t, err)
	t.Cleanup(l.service.Stop)
	require.NoError(t, l.leader.NC.Flush())
}

// refusedWith requires a refusal of a code, and returns it.
func refusedWith(t *testing.T, err error, code string) *api.Failure {
	t.Helper()
	failure, is := errors.AsType[*api.Failure](err)
	require.True(t, is, "%v", err)
	require.Equal(t, code, failure.Code, failure.Message)
	return failure
}

func TestWhatAHubIsAskedIsForwardedToTheOneThatLeads(t *testing.T) {
	l := forwarding(t)
	for _, name := range []string{"web", strings.Repeat("long ", 1_000_000)} {
		question, err := json.Marshal(api.GetRequest{Name: name})
		require.NoError(t, err)
		answer, err := l.other.Ask(bustest.Context(t), viewer, api.VerbGet, question)
		require.NoError(t, err)
		require.JSONEq(t, string(question), string(answer))
	}
	_, by := l.asked.taken()
	asked := viewer
	asked.Verb = api.VerbGet
	require.Equal(t, asked, by)

	_, err := l.other.Ask(bustest.Context(t), viewer, api.VerbApply, []byte(`{"by":{"Role":"admin"}}`))
	require.Contains(t, refusedWith(t, err, api.CodeRefused).Message, "apply needs the role operator: vera is viewer")
	answer, err := l.other.Ask(bustest.Context(t), api.Caller{}, api.VerbSession, []byte(`{"session":"s"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"session":"s"}`, string(answer))
	calls, _ := l.asked.taken()
	require.Equal(t, []string{api.VerbGet, api.VerbGet, api.VerbSession}, calls)

	_, err = l.other.Ask(bustest.Context(t), viewer, api.VerbGet, []byte(strings.Repeat("[", 200)))
	require.Contains(t, refusedWith(t, err, api.CodeTooLarge).Message, "cannot be sent")
	_, err = l.other.Ask(bustest.Context(t), viewer, api.VerbGet, []byte(`"`+bustest.Noise(10<<20)+`"`))
	require.Contains(t, refusedWith(t, err, api.CodeTooLarge).Message, "the server carries")
}

// Strangers who show a hub links, sessions and tokens that are none fill nothing that people's requests need.
func TestWhatStrangersHaveHubsAskIsNotRemembered(t *testing.T) {
	l := remembering(t, 10)
	for range 30 {
		for verb, question := range map[string]string{api.VerbSession: `{"session":"no"}`, api.VerbEnter: `{"link":"no"}`} {
			_, err := l.other.Ask(bustest.Context(t), api.Caller{}, verb, []byte(question))
			require.NoError(t, err)
		}
		_, err := l.other.Ask(bustest.Context(t), viewer, api.VerbGet, []byte(`{}`))
		require.NoError(t, err)
	}
	for range 10 {
		_, err := l.other.Ask(bustest.Context(t), operator, api.VerbApply, []byte(`{}`))
		require.NoError(t, err)
	}
	_, err := l.other.Ask(bustest.Context(t), operator, api.VerbApply, []byte(`{}`))
	require.NotNil(t, refusedWith(t, err, api.CodeUnavailable))
	_, err = l.other.Ask(bustest.Context(t), api.Caller{Name: "ada", Role: api.RoleAdmin}, api.VerbFreeze, []byte(`{}`))
	require.NoError(t, err, "there is room for who stops what happens")
}

// What nobody waits for any more is forwarded to nobody, and nothing is begun for it (H43).
func TestNothingIsForwardedForWhoHasGone(t *testing.T) {
	l := forwarding(t)
	forwarded, err := l.from.NC.SubscribeSync(l.from.Fleet.Forward())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.other.Ask(ctx, api.Caller{}, api.VerbSession, []byte(`{"session":"no"}`))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, l.from.NC.Flush()) // what the connection sent came back by then
	pending, _, err := forwarded.Pending()
	require.NoError(t, err)
	require.Zero(t, pending)
}

// Verbs of hubs are no verbs of anybody's over the API, whatever the role.
func TestNobodyElseAsksVerbsOfHubs(t *testing.T) {
	l := forwarding(t)
	client := l.server.Client(t)
	_, err := client.NC.RequestMsg(plain(client, api.VerbSession), 5*time.Second)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	calls, _ := l.asked.taken()
	require.Empty(t, calls)
}

func TestAnswersThatAreTooLongAreRefused(t *testing.T) {
	l := forwarding(t)
	l.serve(t, map[string]bus.Handler{api.VerbList: func(context.Context, api.Caller, []byte) (any, error) {
		return bustest.Noise(12 << 20), nil
	}})
	_, err := l.other.Ask(bustest.Context(t), viewer, api.VerbList, nil)
	require.Contains(t, refusedWith(t, err, api.CodeTooLarge).Next, "a limit")
}

func TestWithoutAHubThatLeadsAForwardedRequestIsRefusedSoon(t *testing.T) {
	l := forwarding(t)
	l.service.Stop()
	began := time.Now()
	_, err := l.other.Ask(bustest.Context(t), viewer, api.VerbGet, nil)
	require.Contains(t, refusedWith(t, err, api.CodeUnavailable).Message, "no hub that leads fleet test answers")
	require.Less(t, time.Since(began), 10*time.Second)
	require.NotContains(t, err.Error(), "may have been done")

	mute, err := l.leader.NC.Subscribe(l.leader.Fleet.Forward(), func(*nats.Msg) {}) // a process that was stopped
	require.NoError(t, err)
	require.NoError(t, l.leader.NC.Flush())
	t.Cleanup(func() { _ = mute.Unsubscribe() })
	_, err = l.other.Ask(bustest.Context(t), operator, api.VerbApply, nil)
	require.Contains(t, refusedWith(t, err, api.CodeUnavailable).Message, "it may have been done")
}

// What only reads is asked again of the hub that leads next; what changes something is not.
func TestAHubThatIsGoneWhileItWorks(t *testing.T) {
	l := forwarding(t)
	var began atomic.Int32
	hang := make(chan struct{})
	defer close(hang)
	mine := func(context.Context, api.Caller, []byte) (any, error) { began.Add(1); <-hang; return "late", nil }
	slow := l.server.Hub(t)
	_, err := bus.Serve(context.WithoutCancel(t.Context()), slow, bus.ServiceOptions{Keys: bustest.Keys(), Leads: func() bool { return began.Load() < 2 }},
		map[string]bus.Handler{api.VerbGet: mine, api.VerbApply: mine})
	require.NoError(t, err)
	l.service.Stop()
	require.NoError(t, slow.NC.Flush())
	read, written := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := l.other.Ask(bustest.Context(t), operator, api.VerbGet, []byte("{}"))
		read <- err
	}()
	go func() {
		_, err := l.other.Ask(bustest.Context(t), operator, api.VerbApply, []byte("{}"))
		written <- err
	}()
	bustest.Eventually(t, func() error {
		if began.Load() < 2 {
			return errors.New("they have not begun")
		}
		return nil
	})
	l.serve(t, map[string]bus.Handler{api.VerbGet: l.asked.handler(api.VerbGet), api.VerbApply: l.asked.handler(api.VerbApply)})
	require.NoError(t, bustest.Within(t, read, "the read"))
	require.Contains(t, refusedWith(t, bustest.Within(t, written, "the write"), api.CodeUnavailable).Message, "it may have been done")
	calls, _ := l.asked.taken()
	require.Equal(t, []string{api.VerbGet}, calls)
}

// Somebody who waits for long holds up nobody else.
func TestLongWaitsAreForwarded(t *testing.T) {
	l := forwarding(t)
	news := make(chan struct{})
	l.serve(t, map[string]bus.Handler{
		api.VerbGet: l.asked.handler(api.VerbGet),
		api.VerbWatch: func(ctx context.Context, _ api.Caller, _ []byte) (any, error) {
			bus.Aside(ctx)
			<-news
			return "changed", nil
		},
	})
	const many = 100
	answers := make(chan error, many)
	for range many {
		go func() {
			answer, err := l.other.Ask(bustest.Context(t), viewer, api.VerbWatch, nil)
			if err == nil && string(answer) != `"changed"` {
				err = errors.New(string(answer))
			}
			answers <- err
		}()
	}
	_, err := l.other.Ask(bustest.Context(t), viewer, api.VerbGet, []byte("{}"))
	require.NoError(t, err)
	close(news)
	for range many {
		require.NoError(t, bustest.Within(t, answers, "a wait"))
	}
}

// recorded are messages that somebody wrote down who hears everything.
type recorded struct {
	mu       sync.Mutex
	messages []*nats.Msg
}

func (r *recorded) all() []*nats.Msg {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages
}

func TestForwardedRequestsAreReadByNobodyAndActOnce(t *testing.T) {
	l := forwarding(t)
	inspector := l.server.Inspector(t)
	tape := &recorded{}
	for _, subject := range []string{inspector.Fleet.Prefix() + ".>", "_INBOX.>"} {
		_, err := inspector.NC.Subscribe(subject, func(m *nats.Msg) {
			tape.mu.Lock()
			defer tape.mu.Unlock()
			tape.messages = append(tape.messages, m)
		})
		require.NoError(t, err)
	}
	require.NoError(t, inspector.NC.Flush())
	const secret = "a secret that nobody else reads"
	_, err := l.other.Ask(bustest.Context(t), operator, api.VerbApply, []byte(`"`+secret+`"`))
	require.NoError(t, err)
	var request *nats.Msg
	bustest.Eventually(t, func() error {
		sealed := 0
		for _, m := range tape.all() {
			require.NotContains(t, string(m.Data), secret)
			require.NotContains(t, string(m.Data), operator.Name)
			if len(m.Data) > len(secret) {
				sealed++
			}
			if m.Subject == inspector.Fleet.Forward() {
				request = m // the last is that which was taken
			}
		}
		if sealed < 4 { // the leader was asked who it is first
			return errors.New("requests and answers are missing")
		}
		return nil
	})

	again := func(change func(m *nats.Msg)) {
		m := nats.NewMsg(request.Subject)
		m.Header, m.Data, m.Reply = request.Header, request.Data, l.leader.NC.NewInbox()
		change(m)
		require.NoError(t, l.leader.NC.PublishMsg(m))
		require.NoError(t, l.leader.NC.Flush())
	}
	again(func(*nats.Msg) {})
	again(func(m *nats.Msg) { m.Header = nats.Header{bus.HeaderRequest: {"another"}} })
	again(func(m *nats.Msg) { m.Data = append([]byte{}, m.Data[:len(m.Data)-1]...) })
	again(func(m *nats.Msg) { m.Data = []byte(`{"verb":"apply","by":{"Role":"admin"}}`) })
	l.serve(t, map[string]bus.Handler{api.VerbApply: l.asked.handler(api.VerbApply)}) // the next hub that leads
	again(func(*nats.Msg) {})
	_, err = l.other.Ask(bustest.Context(t), operator, api.VerbApply, []byte(`"last"`))
	require.NoError(t, err)
	calls, _ := l.asked.taken()
	require.Equal(t, []string{api.VerbApply, api.VerbApply}, calls)

	require.NoError(t, inspector.NC.Publish(inspector.Fleet.Forward(), request.Data))
	require.NoError(t, inspector.NC.Flush())
	require.ErrorContains(t, inspector.NC.LastError(), "Permissions Violation for Publish")
}

// A request names the term of service that it is for: a hub that has yet to hear of it is told which, and asks again, once a term.
func TestAForwardedRequestIsForOneTermOfService(t *testing.T) {
	l := forwarding(t)
	inspector := l.server.Inspector(t)
	asked, err := inspector.NC.SubscribeSync(inspector.Fleet.Forward())
	require.NoError(t, err)
	require.NoError(t, inspector.NC.Flush())
	const done = "all that was asked"
	ask := func(want int, what string) {
		t.Helper()
		_, err := l.other.Ask(bustest.Context(t), operator, api.VerbApply, []byte("{}"))
		require.NoError(t, err, what)
		require.NoError(t, l.from.NC.Publish(l.leader.Fleet.Forward(), []byte(done))) // behind what it asked, over the same connection
		count := 0
		for {
			m, err := asked.NextMsgWithContext(bustest.Context(t))
			require.NoError(t, err)
			if string(m.Data) == done {
				break
			}
			count++
		}
		require.Equal(t, want, count, what)
	}
	for _, what := range []string{"of the first hub that leads", "of the next"} {
		ask(2, "the first "+what)
		ask(1, "the second "+what)
		l.serve(t, map[string]bus.Handler{api.VerbApply: l.asked.handler(api.VerbApply)})
	}
	calls, _ := l.asked.taken()
	require.Len(t, calls, 4, "each is done once")
}

// A forwarded request is good for a minute, and for hubs with the secrets of the fleet alone.
func TestForwardedRequestsOfAnotherTimeOrFleet(t *testing.T) {
	l := forwarding(t)
	for _, ahead := range []time.Duration{-2 * time.Minute, 2 * time.Minute} {
		o := l.server.TCP()
		o.Now = func() time.Time { return elsewhen.Now().Add(ahead) }
		c, err := bus.ConnectHub(bustest.Context(t), o)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		_, err = bus.NewForwarder(c, bustest.Keys()).Ask(bustest.Context(t), operator, api.VerbApply, nil)
		require.Contains(t, refusedWith(t, err, api.CodeRefused).Message, "set the clocks of the hubs")
	}
	others := &seal.Keyring{Digests: make([]byte, seal.KeyBytes), Content: [][]byte{make([]byte, seal.KeyBytes)}}
	_, err := bus.NewForwarder(l.server.Hub(t), others).Ask(bustest.Context(t), operator, api.VerbApply, nil)
	require.Contains(t, refusedWith(t, err, api.CodeUnavailable).Message, "no hub has taken the request")
	calls, _ := l.asked.taken()
	require.Empty(t, calls)
}

func TestAnswersInProcessAreDeliveredAsTheyAre(t *testing.T) {
	shared := &api.VersionResponse{Fleet: "test", Term: 7}
	var value api.VersionResponse
	require.NoError(t, bus.Deliver(shared, &value))
	require.Equal(t, *shared, value)
	var pointer *api.VersionResponse
	require.NoError(t, bus.Deliver(shared, &pointer))
	require.Same(t, shared, pointer)
	var other struct{ Term int }
	require.NoError(t, bus.Deliver(shared, &other))
	require.Equal(t, 7, other.Term)
	require.NoError(t, bus.Deliver(json.RawMessage(`{"term":8}`), &other))
	require.Equal(t, 8, other.Term)
	require.NoError(t, bus.Deliver(shared, nil))
	var none map[string]any
	require.NoError(t, bus.Deliver(nil, &none))
	require.Nil(t, none)
}
