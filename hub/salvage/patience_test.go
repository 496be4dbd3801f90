package salvage

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// A hub whose state is whole leads again soon after it refused a page: it does not wait for the next.
func TestAHubLeadsAgainAfterARefusedPage(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	s := New(leader, Options{Patience: time.Hour, Log: zerolog.Nop()})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(bustest.Context(t)) }()
	head := headOf(leader, 1)
	page := paged(t, leader, head, 0, 0)
	_, err := s.restore(t.Context(), api.Caller{}, step(t, api.RestoreBegin, head, nil))
	require.NoError(t, err)
	page.Sealed = []byte(strings.Repeat("x", 100))
	for range 2 { // who asks again is told the same
		_, err = s.restore(t.Context(), api.Caller{}, step(t, api.RestorePage, nil, page))
		require.ErrorContains(t, err, "entry 0 and on of the backup: ")
	}
	require.NoError(t, <-ended)
	_, err = s.restore(t.Context(), api.Caller{}, step(t, api.RestoreBegin, head, nil))
	require.ErrorContains(t, err, "the hub begins to lead again: ask again")
}
