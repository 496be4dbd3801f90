package salvage

import (
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
)

// A restore whose client went away before its end changes nothing: where state is whole the hub may lead again.
func TestARestoreThatDoesNotGoOn(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	_, err := leader.Writer.Write(t.Context(), store.Put("schedule.web", api.Schedule{Placement: "web"}, 0))
	require.NoError(t, err)
	s := New(leader, Options{Patience: 50 * time.Millisecond, Log: zerolog.Nop()})
	head := api.BackupHead{Kind: api.KindBackup, Version: api.BackupVersion, Fleet: bustest.Fleet, Sealing: streams.Sealing(leader.Keys), Salt: make([]byte, 32), Records: 2}
	_, err = s.receive(t.Context(), api.Caller{}, &api.RestoreRequest{Session: "a", Step: api.RestoreBegin, Head: &head})
	require.NoError(t, err)
	page, err := leader.Keys.SealPage(&head, 0, 0, []api.BackupEntry{{Record: "schedule.other", Value: []byte("{}")}})
	require.NoError(t, err)
	_, err = s.receive(t.Context(), api.Caller{}, &api.RestoreRequest{Session: "a", Step: api.RestorePage, Page: &page})
	require.NoError(t, err)
	_, err = s.receive(t.Context(), api.Caller{}, &api.RestoreRequest{Session: "a", Step: api.RestoreCommit})
	require.ErrorContains(t, err, "1 of 2 records came; nothing was changed")
	require.NoError(t, s.Run(bustest.Context(t)))
	require.Empty(t, s.damage())
	require.Equal(t, []string{"schedule.web"}, leader.State.Keys("schedule."))
}
