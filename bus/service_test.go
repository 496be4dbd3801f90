package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/core/strict"
)

// serve answers verbs until the end of the test.
func serve(t *testing.T, c *bus.Conn, verbs map[string]bus.Handler) *bus.Service {
	t.Helper()
	s, err := bus.Serve(context.WithoutCancel(t.Context()), c, bus.ServiceOptions{Version: "1.2.3", Replica: "hub-0", Keys: bustest.Keys()}, verbs)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	require.NoError(t, c.NC.Flush()) // who asks over another connection finds it
	return s
}

func echo(_ context.Context, _ api.Caller, body []byte) (any, error) {
	return json.RawMessage(body), nil
}

var quick = bus.RequestOptions{Total: 300 * time.Millisecond, Try: 100 * time.Millisecond}

func TestRequestsAreAnswered(t *testing.T) {
	server := bustest.Start(t)
	serve(t, server.Hub(t), map[string]bus.Handler{api.VerbGet: echo})
	client := server.Client(t)
	for _, name := range []string{"web", strings.Repeat("long ", 1_000_000)} {
		var got api.GetRequest
		require.NoError(t, bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{Name: name}, &got, bus.RequestOptions{}))
		require.Equal(t, name, got.Name)
	}
}

// plain is a request as tools of NATS send it.
func plain(client *bus.Conn, verb string) *nats.Msg {
	m := nats.NewMsg(client.API(verb))
	m.Header.Set(bus.HeaderRequest, "r1")
	return m
}

func TestPeopleWithNATSToolsGetPlainJSON(t *testing.T) {
	server := bustest.Start(t)
	serve(t, server.Hub(t), map[string]bus.Handler{api.VerbList: func(context.Context, api.Caller, []byte) (any, error) {
		return strings.Repeat("x", 2*bus.GzipAbove), nil
	}})
	client := server.Client(t)
	m, err := client.NC.RequestMsg(plain(client, api.VerbList), 5*time.Second)
	require.NoError(t, err)
	require.Len(t, m.Data, 2*bus.GzipAbove+2)
	found, err := server.Inspector(t).NC.Request("$SRV.INFO.flotilla-hub", nil, 5*time.Second)
	require.NoError(t, err)
	var info micro.Info
	require.NoError(t, json.Unmarshal(found.Data, &info))
	require.Equal(t, "1.2.3", info.Version)
	require.Equal(t, "hub-0", info.Metadata["replica"])
	require.Equal(t, "flotilla.test.api.*.*.view.list", info.Endpoints[1].Subject)
}

func TestFailuresArrive(t *testing.T) {
	server := bustest.Start(t)
	refusal := &api.Failure{Code: api.CodeInvalid, Message: "2 faults\nin one request", Faults: strict.Faults{{Path: "spec.policy", Found: "x", Expected: "y"}}, Next: "flotilla apply"}
	serve(t, server.Hub(t), map[string]bus.Handler{
		api.VerbApply: func(context.Context, api.Caller, []byte) (any, error) {
			return nil, fmt.Errorf("applying: %w", refusal)
		},
		api.VerbPlan: func(context.Context, api.Caller, []byte) (any, error) { return nil, errors.New("out of luck") },
		api.VerbWhy:  func(context.Context, api.Caller, []byte) (any, error) { panic("oh") },
		api.VerbStatus: func(context.Context, api.Caller, []byte) (any, error) {
			return strings.Repeat(bustest.Keys().Digest(nil), 1<<18), nil
		},
	})
	client := server.Client(t)
	ask := func(verb string) *api.Failure {
		t.Helper()
		var failure *api.Failure
		require.ErrorAs(t, bus.Request(bustest.Context(t), client, verb, api.GetRequest{}, nil, bus.RequestOptions{}), &failure)
		return failure
	}
	require.Equal(t, refusal, ask(api.VerbApply))
	require.Equal(t, &api.Failure{Code: api.CodeInternal, Message: "out of luck"}, ask(api.VerbPlan))
	require.Equal(t, api.CodeInternal, ask(api.VerbWhy).Code)

	refusal.Faults = slices.Repeat(refusal.Faults, 98_490)
	require.Len(t, ask(api.VerbApply).Faults, 1000)

	m, err := client.NC.RequestMsg(plain(client, api.VerbApply), 5*time.Second)
	require.NoError(t, err)
	require.Equal(t, api.CodeInvalid, m.Header.Get(micro.ErrorCodeHeader))
	require.Equal(t, "2 faults", m.Header.Get(micro.ErrorHeader))
	m, err = client.NC.RequestMsg(plain(client, api.VerbStatus), 5*time.Second)
	require.NoError(t, err)
	require.Equal(t, api.CodeTooLarge, m.Header.Get(micro.ErrorCodeHeader), "without compression it is too long")
}

// What a client asks again while it is worked on is worked on once, and all of its tries are answered (H41).
func TestWhatIsAskedAgainRunsOnce(t *testing.T) {
	server := bustest.Start(t)
	goOn, ran := make(chan struct{}), make(chan string, 16)
	serves := func(verb string) bus.Handler {
		return func(_ context.Context, by api.Caller, body []byte) (any, error) {
			ran <- verb + by.Request + string(body)
			<-goOn
			return verb + by.Request, nil
		}
	}
	serve(t, server.Hub(t), map[string]bus.Handler{api.VerbPlan: serves(api.VerbPlan), api.VerbWhatIf: serves(api.VerbWhatIf)})
	client := server.Client(t)
	answers, err := client.NC.SubscribeSync(client.NC.NewInbox())
	require.NoError(t, err)
	send := func(verb, id, body string) {
		m := plain(client, verb)
		m.Header.Set(bus.HeaderRequest, id)
		m.Reply, m.Data = answers.Subject, []byte(body)
		require.NoError(t, client.NC.PublishMsg(m))
	}
	for range 3 {
		send(api.VerbPlan, "r1", "{}")
	}
	send(api.VerbPlan, "r1", `{"runs":[]}`)
	send(api.VerbWhatIf, "r1", "{}")
	send(api.VerbPlan, "last", "{}")
	var all []string
	for range 4 {
		all = append(all, bustest.Within(t, ran, "a run"))
	}
	require.ElementsMatch(t, []string{"planr1{}", `planr1{"runs":[]}`, "what-ifr1{}", "planlast{}"}, all)
	close(goOn)
	var got []string
	for range 6 {
		m, err := answers.NextMsg(5 * time.Second)
		require.NoError(t, err)
		got = append(got, string(m.Data))
	}
	require.ElementsMatch(t, []string{`"planr1"`, `"planr1"`, `"planr1"`, `"planr1"`, `"what-ifr1"`, `"planlast"`}, got)
	require.Empty(t, ran)
	send(api.VerbPlan, "r1", "{}")
	require.Equal(t, "planr1{}", bustest.Within(t, ran, "a run"), "after the answer it is another request")
}

// A client must not see that the leader changed: it sends the same request until a hub answers.
func TestRequestsAreSentAgain(t *testing.T) {
	server := bustest.Start(t)
	client := server.Client(t)
	var asked atomic.Int32
	answered := make(chan error, 1)
	var got api.GetRequest
	go func() {
		answered <- bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{Name: "web"}, &got, bus.RequestOptions{Try: 200 * time.Millisecond})
	}()
	hub := server.Hub(t)
	mute, err := hub.NC.Subscribe(hub.Fleet.API("*", "*", api.VerbKey), func(*nats.Msg) { asked.Add(1) })
	require.NoError(t, err)
	bustest.Eventually(t, func() error {
		if asked.Load() < 2 {
			return fmt.Errorf("%d requests", asked.Load())
		}
		return nil
	})
	require.NoError(t, mute.Unsubscribe())
	relisting := true
	serve(t, hub, map[string]bus.Handler{api.VerbGet: func(_ context.Context, _ api.Caller, body []byte) (any, error) {
		if relisting {
			relisting = false
			return nil, &api.Failure{Code: api.CodeUnavailable, Message: "relisting"}
		}
		return json.RawMessage(body), nil
	}})
	require.NoError(t, bustest.Within(t, answered, "an answer"))
	require.Equal(t, "web", got.Name)
}

// A hub whose process is stopped keeps its subscriptions: what it is asked it never answers.
func TestAStoppedHubTakesNoRequestAway(t *testing.T) {
	server := bustest.Start(t)
	goOn := make(chan struct{})
	serve(t, server.Hub(t), map[string]bus.Handler{api.VerbGet: func(context.Context, api.Caller, []byte) (any, error) {
		<-goOn
		return nil, errors.New("too late")
	}})
	t.Cleanup(func() { close(goOn) })
	serve(t, server.Hub(t), map[string]bus.Handler{api.VerbGet: echo})
	client := server.Client(t)
	for range 20 {
		var got api.GetRequest
		patient := bus.RequestOptions{Total: 20 * time.Second, Try: 20 * time.Second}
		require.NoError(t, bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{Name: "web"}, &got, patient))
		require.Equal(t, "web", got.Name)
	}
}

// A process that was stopped goes on with requests that the next leader has answered long ago.
func TestAHubThatDoesNotLeadAnswersNothing(t *testing.T) {
	server := bustest.Start(t)
	var leads atomic.Bool
	hub := server.Hub(t)
	s, err := bus.Serve(context.WithoutCancel(t.Context()), hub, bus.ServiceOptions{Leads: leads.Load, Keys: bustest.Keys()}, map[string]bus.Handler{api.VerbGet: echo})
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	client := server.Client(t)
	require.ErrorIs(t, bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{}, nil, quick), bus.ErrUnreachable)
	leads.Store(true)
	require.NoError(t, bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{}, nil, bus.RequestOptions{}))
}

// muteHub takes the question that comes before any request, and never answers it.
func muteHub(t *testing.T, hub *bus.Conn) (asked <-chan struct{}) {
	t.Helper()
	taken := make(chan struct{}, 16)
	_, err := hub.NC.Subscribe(hub.Fleet.API("*", "*", api.VerbKey), func(*nats.Msg) { taken <- struct{}{} })
	require.NoError(t, err)
	require.NoError(t, hub.NC.Flush())
	return taken
}

// ask asks once, for longer than the test may take.
func ask(t *testing.T, client *bus.Conn) (answered <-chan error) {
	t.Helper()
	done := make(chan error, 1)
	forever := bus.RequestOptions{Total: time.Hour, Try: time.Hour}
	go func() { done <- bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{}, nil, forever) }()
	return done
}

// The hub that was asked is gone, and the next one says that it leads: nobody waits for the first.
func TestAClientAsksAgainWhenAnotherHubLeads(t *testing.T) {
	server := bustest.Start(t)
	client := server.Client(t)
	asked := muteHub(t, server.Hub(t))
	answered := ask(t, client)
	bustest.Within(t, asked, "the request arrives")
	serve(t, server.Hub(t), map[string]bus.Handler{api.VerbGet: echo})
	require.NoError(t, bustest.Within(t, answered, "an answer"))
}

// A try that nobody answered may be carried out yet. That there is no room says nothing of it, and is no answer to the
// request; where no try was lost, it is.
func TestARefusalOfALaterTryIsNoAnswer(t *testing.T) {
	server := bustest.Start(t)
	hub, client := server.Hub(t), server.Client(t)
	full := &api.Failure{Code: api.CodeNoRoom, Message: "nothing was stored"}
	var tries atomic.Int64
	carriedOut := make(chan struct{})
	serve(t, hub, map[string]bus.Handler{
		api.VerbApply: func(context.Context, api.Caller, []byte) (any, error) { return nil, full },
		api.VerbGet: func(context.Context, api.Caller, []byte) (any, error) {
			switch tries.Add(1) {
			case 1:
				err := hub.Lead() // so that the client waits no longer
				<-carriedOut
				return nil, err
			case 2:
				return nil, full
			}
			return nil, nil
		},
	})
	t.Cleanup(func() { close(carriedOut) })
	patient := bus.RequestOptions{Total: time.Minute, Try: time.Minute}
	require.NoError(t, bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{}, nil, patient))
	require.EqualValues(t, 3, tries.Load())
	var refused *api.Failure
	require.ErrorAs(t, bus.Request(bustest.Context(t), client, api.VerbApply, api.ApplyRequest{}, nil, patient), &refused)
	require.Equal(t, api.CodeNoRoom, refused.Code)
}

// The answer to what was asked before the connection was lost will not come.
func TestAClientAsksAgainWhenItsConnectionIsBack(t *testing.T) {
	server := bustest.Start(t)
	client := server.Client(t)
	asked, over := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	serve(t, server.Hub(t), map[string]bus.Handler{api.VerbGet: func(_ context.Context, _ api.Caller, body []byte) (any, error) {
		if first.CompareAndSwap(false, true) {
			close(asked)
			<-over
		}
		return json.RawMessage(body), nil
	}})
	t.Cleanup(func() { close(over) })
	answered := ask(t, client)
	bustest.Within(t, asked, "the request arrives")
	server.Restart(t)
	require.NoError(t, bustest.Within(t, answered, "an answer"))
}

func TestNobodyAnswers(t *testing.T) {
	running := bustest.Start(t)
	client := running.Client(t)
	err := bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{}, nil, quick)
	require.ErrorIs(t, err, bus.ErrUnreachable)
	require.ErrorContains(t, err, running.URL())
	require.ErrorContains(t, err, "nats micro ls")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, bus.Request(ctx, client, api.VerbGet, api.GetRequest{}, nil, quick), context.Canceled)
	tooLong := api.GetRequest{Name: `"` + bustest.Noise(server.MaxPayload+1<<20) + `"`}
	var failure *api.Failure
	require.ErrorAs(t, bus.Request(bustest.Context(t), client, api.VerbGet, tooLong, nil, quick), &failure)
	require.Equal(t, api.CodeTooLarge, failure.Code)
}

func TestStopAnswersWhatRuns(t *testing.T) {
	server := bustest.Start(t)
	running, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, server.Hub(t), map[string]bus.Handler{api.VerbApply: func(context.Context, api.Caller, []byte) (any, error) {
		close(running)
		<-goOn
		return "done", nil
	}})
	client := server.Client(t)
	answered := make(chan error, 1)
	var got string
	go func() {
		answered <- bus.Request(bustest.Context(t), client, api.VerbApply, api.ApplyRequest{}, &got, bus.RequestOptions{})
	}()
	bustest.Within(t, running, "the request runs")
	stopped := make(chan struct{})
	go func() { s.Stop(); close(stopped) }()
	bustest.Eventually(t, func() error {
		if _, err := client.NC.RequestMsg(plain(client, api.VerbApply), time.Second); !errors.Is(err, nats.ErrNoResponders) {
			return fmt.Errorf("still listening: %w", err)
		}
		return nil
	})
	select {
	case <-stopped:
		require.Fail(t, "stopped while a request ran")
	default:
	}
	close(goOn)
	require.NoError(t, bustest.Within(t, answered, "an answer"))
	require.Equal(t, "done", got)
	bustest.Within(t, stopped, "the service stops")
}

// A request that does not end holds up no hub that stops. What waits for its context is told to ask again.
func TestStopWaitsForNoRequestWithoutEnd(t *testing.T) {
	server := bustest.Start(t)
	running, goOn, ended := make(chan struct{}, 3), make(chan struct{}), make(chan struct{})
	patient := func(ctx context.Context, _ api.Caller, _ []byte) (any, error) {
		running <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := serve(t, server.Hub(t), map[string]bus.Handler{
		api.VerbStatus: patient, api.VerbDelete: patient,
		api.VerbApply: func(ctx context.Context, _ api.Caller, _ []byte) (any, error) {
			running <- struct{}{}
			<-goOn
			defer close(ended)
			return nil, ctx.Err()
		},
	})
	client, answered := server.Client(t), make(chan error, 1)
	go func() {
		_, err := client.NC.RequestMsg(plain(client, api.VerbApply), time.Minute)
		answered <- err
	}()
	refusals := make(chan string, 2)
	go func() {
		answer, err := client.NC.RequestMsg(plain(client, api.VerbStatus), time.Minute)
		if err != nil {
			answer = nats.NewMsg(err.Error())
		}
		refusals <- answer.Header.Get(micro.ErrorCodeHeader)
	}()
	go func() {
		_, err := s.Ask(t.Context(), api.Caller{Name: "anna", Role: api.RoleAdmin}, api.VerbDelete, nil)
		refusals <- answeredWith(err)
	}()
	for range cap(running) {
		bustest.Within(t, running, "three requests run")
	}
	s.Stop()
	for range cap(refusals) {
		require.Equal(t, api.CodeUnavailable, bustest.Within(t, refusals, "a refusal"))
	}
	close(goOn)
	bustest.Within(t, ended, "the request ends that waits for nothing")
	require.NoError(t, bustest.Within(t, answered, "its answer"))
}

// answeredWith is the code of a refusal, or what else an error says.
func answeredWith(err error) string {
	if failure, refused := errors.AsType[*api.Failure](err); refused {
		return failure.Code
	}
	return fmt.Sprint(err)
}
