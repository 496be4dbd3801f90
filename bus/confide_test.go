package bus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/seal"
)

// sniff keeps everything that can be heard in the hub's account, until it is asked for.
func sniff(t *testing.T, server *bustest.Server) (heard func() []*nats.Msg) {
	t.Helper()
	hub := server.Hub(t).NC
	var mu sync.Mutex
	var all []*nats.Msg
	_, err := hub.Subscribe(">", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, m)
	})
	require.NoError(t, err)
	require.NoError(t, hub.Flush())
	return func() []*nats.Msg {
		require.NoError(t, hub.Flush())
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// Who uses the same servers hears neither what is asked nor what is answered, nor why something is refused.
func TestNobodyElseReadsRequestsAndAnswers(t *testing.T) {
	server := bustest.Start(t)
	const asked, told, refused = "planted-question", "planted-answer", "planted-reason"
	serve(t, server.Hub(t), map[string]bus.Handler{
		api.VerbPlan: func(_ context.Context, _ api.Caller, body []byte) (any, error) {
			require.Contains(t, string(body), asked)
			return strings.Repeat(told, bus.GzipAbove), nil
		},
		api.VerbApply: func(context.Context, api.Caller, []byte) (any, error) {
			return nil, &api.Failure{Code: api.CodeInvalid, Message: refused}
		},
	})
	client := server.Client(t)
	heard := sniff(t, server)
	var answer string
	require.NoError(t, bus.Request(bustest.Context(t), client, api.VerbPlan, api.GetRequest{Name: asked}, &answer, bus.RequestOptions{}))
	require.Len(t, answer, len(told)*bus.GzipAbove)
	require.ErrorContains(t, bus.Request(bustest.Context(t), client, api.VerbApply, nil, nil, bus.RequestOptions{}), refused)

	bustest.Eventually(t, func() error {
		if questions, answers := sealedOf(heard()); questions != 2 || answers != 2 {
			return fmt.Errorf("heard %d sealed questions and %d sealed answers, wanted 2 of each", questions, answers)
		}
		return nil
	})
	for _, m := range heard() {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		for _, planted := range []string{asked, told, refused} {
			require.NotContains(t, string(text)+string(m.Data), planted, m.Subject)
		}
	}
}

// sealedOf counts what is sealed of messages.
func sealedOf(messages []*nats.Msg) (questions, answers int) {
	for _, m := range messages {
		switch {
		case m.Header.Get("Flotilla-Sealed") == "":
		case m.Header.Get(bus.HeaderRequest) != "":
			questions++
		default:
			answers++
		}
	}
	return questions, answers
}

// An answer that is not sealed by the hub that was asked is not taken, and a request that cannot be opened is refused.
func TestWhatIsNotSealedByTheOtherSideIsRefused(t *testing.T) {
	server := bustest.Start(t)
	hub, client := server.Hub(t), server.Client(t)
	served := serve(t, hub, map[string]bus.Handler{api.VerbGet: echo})
	get := func() error {
		return bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{Name: "web"}, nil, bus.RequestOptions{})
	}
	require.NoError(t, get())
	served.Stop()
	stranger, err := nkeys.CreateCurveKeys()
	require.NoError(t, err)
	clear := false
	_, err = hub.NC.Subscribe(hub.Fleet.API("*", "*", api.VerbGet), func(m *nats.Msg) {
		answer := nats.NewMsg(m.Reply)
		answer.Data = []byte(`{"name":"evil"}`)
		if !clear {
			answer.Header = m.Header
			answer.Data, err = stranger.Seal(answer.Data, m.Header.Get("Flotilla-Sealed"))
			require.NoError(t, err)
		}
		require.NoError(t, m.RespondMsg(answer))
	})
	require.NoError(t, err)
	require.NoError(t, hub.NC.Flush())
	require.ErrorContains(t, get(), "not sealed by the hub that was asked")
	clear = true
	require.ErrorContains(t, get(), "not sealed by the hub that was asked")
}

// The hub's secrets were lost and it has others: clients ask for its key once more, by themselves.
func TestAHubWithAnotherKeyIsAskedForIt(t *testing.T) {
	server := bustest.Start(t)
	client := server.Client(t)
	for seed := range byte(3) {
		keys := &seal.Keyring{Digests: append(make([]byte, seal.KeyBytes-1), seed), Content: bustest.Keys().Content}
		s, err := bus.Serve(t.Context(), server.Hub(t), bus.ServiceOptions{Keys: keys}, map[string]bus.Handler{api.VerbGet: echo})
		require.NoError(t, err)
		var got api.GetRequest
		require.NoError(t, bus.Request(bustest.Context(t), client, api.VerbGet, api.GetRequest{Name: "web"}, &got, bus.RequestOptions{}))
		require.Equal(t, "web", got.Name)
		s.Stop()
	}
}
