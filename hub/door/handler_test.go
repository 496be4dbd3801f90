package door

import (
	"errors"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
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

func TestARequestThatIsNoJSONIsRefused(t *testing.T) {
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	_, err := writing(d, d.apply)(bustest.Context(t), api.Caller{}, []byte("{"))
	failure, refused := errors.AsType[*api.Failure](err)
	require.True(t, refused)
	require.Equal(t, api.CodeInvalid, failure.Code)
}
