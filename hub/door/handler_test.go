package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door/draft"
)

func TestNothingIsAnsweredWhileTheRecordsAreBehind(t *testing.T) {
	server := bustest.Start(t)
	d := New(server.Lead(t), Options{Log: zerolog.Nop()})
	ask := reading(d, d.view.Version)
	_, err := ask(bustest.Context(t), api.Caller{}, nil)
	require.NoError(t, err)

	server.Stop(t)
	bustest.Eventually(t, func() error {
		if d.store.State.Synced() {
			return errors.New("still synced")
		}
		return nil
	})
	for verb, handler := range d.verbs() {
		_, err := handler(bustest.Context(t), api.Caller{}, []byte("{}"))
		failure, refused := errors.AsType[*api.Failure](err)
		require.True(t, refused, verb)
		require.Equal(t, api.CodeUnavailable, failure.Code, verb)
	}
}

// Documents are read while others have the turn, and once more only where what they were read with has changed (H48).
func TestDocumentsAreReadBeforeTheTurn(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	labelled := func(label string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"is":%q}}}`, label))
	}
	request := func(label string) *api.ApplyRequest {
		return &api.ApplyRequest{Asked: api.Asked{By: draft.Door()}, Documents: []json.RawMessage{labelled(label)}}
	}
	is := func() string {
		stored, _, found := d.records.Objects.Get("|Namespace||shop")
		require.True(t, found)
		return stored.Labels["is"]
	}
	require.NoError(t, d.desk.Take(ctx))
	for _, c := range []struct{ meanwhile, want string }{
		{"", "read"},
		{"other", "again"},
	} {
		one := request("read")
		applied, err := d.readAhead(ctx, one)
		require.NoError(t, err)
		one.Documents[0] = labelled("again") // what is read from now on is this
		if c.meanwhile != "" {
			_, err := d.apply(ctx, request(c.meanwhile))
			require.NoError(t, err)
		}
		_, err = applied(ctx)
		require.NoError(t, err)
		require.Equal(t, c.want, is())
		one.Documents[0] = labelled("retried")
		_, err = applied(ctx)
		require.NoError(t, err)
		require.Equal(t, "retried", is(), "what was applied once is read anew")
	}
	d.desk.Leave()

	body, err := json.Marshal(request("turn"))
	require.NoError(t, err)
	_, err = d.verbs()[api.VerbApply](ctx, api.Caller{Name: "olga", Role: api.RoleAdmin, Request: "one"}, body)
	require.NoError(t, err)
	require.Equal(t, "turn", is())
	require.NoError(t, d.desk.Take(ctx), "the turn was left")
	lane := func(ctx context.Context, request *api.ApplyRequest) (func(), error) {
		return d.lanes.reading.Take(ctx, request.By.Name)
	}
	_, err = prepared(d, d.desk.Turn, lane, func(context.Context, *api.ApplyRequest) (func(context.Context) (string, error), error) {
		d.desk.Leave() // who has it leaves it once this one is read
		return func(context.Context) (string, error) { return "", nil }, nil
	})(ctx, api.Caller{Name: "olga", Role: api.RoleAdmin, Request: "two"}, body)
	require.NoError(t, err)

	leave, err := d.lanes.reading.Take(ctx, "olga")
	require.NoError(t, err)
	ended, end := context.WithCancel(ctx)
	end()
	_, err = d.verbs()[api.VerbApply](ended, api.Caller{Name: "olga", Role: api.RoleAdmin, Request: "three"}, body)
	require.ErrorIs(t, err, context.Canceled, "one of a person at a time")
	leave()
}

func TestARequestThatIsNoJSONIsRefused(t *testing.T) {
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	_, err := writing(d, d.apply)(bustest.Context(t), api.Caller{}, []byte("{"))
	failure, refused := errors.AsType[*api.Failure](err)
	require.True(t, refused)
	require.Equal(t, api.CodeInvalid, failure.Code)
}
