package salvage

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// A backup that takes as long as content is kept which nothing refers to any more is refused while it is made: it would lack content.
func TestABackupThatTakesTooLongIsRefused(t *testing.T) {
	server := bustest.Start(t)
	var ahead atomic.Int64
	o := server.TCP()
	o.Now = func() time.Time { return elsewhen.Now().Add(time.Duration(ahead.Load())) }
	c, err := bus.ConnectHub(bustest.Context(t), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	leader := bustest.Lead(t, c, "hub-test", store.LeadOptions{})
	answer := newBackups(leader).answer
	ask := func(session string, from int) error {
		body, err := json.Marshal(api.BackupRequest{Session: session, From: from})
		require.NoError(t, err)
		_, err = answer(t.Context(), api.Caller{}, body)
		return err
	}
	require.NoError(t, ask("a", 0))
	ahead.Store(int64(streams.SweepAfter - time.Minute))
	require.NoError(t, ask("a", 1), "content is there yet")
	ahead.Store(int64(streams.SweepAfter))
	err = ask("a", 1)
	require.ErrorContains(t, err, "this backup has taken 1h0m0s, expected less than 1h0m0s")
	var failure *api.Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, api.CodeConflict, failure.Code, "it is not asked again")
	require.NoError(t, ask("b", 0), "another begins")
}
