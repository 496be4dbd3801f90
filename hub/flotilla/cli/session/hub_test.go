package session

import (
	"errors"
	"fmt"
	"testing"

	"flotilla/bus"
	"flotilla/core/api"

	"github.com/stretchr/testify/require"
)

func TestMistakesOfConnectingHaveTheirOwnExitCodes(t *testing.T) {
	for err, want := range map[error]int{
		bus.ErrSetup: ExitUsage, bus.ErrDenied: ExitUsage, bus.ErrUnreachable: ExitUnreachable, errors.New("else"): ExitUnreachable,
	} {
		f := notConnected(fmt.Errorf("connecting: %w", err), "shop")
		require.Equal(t, want, f.Code, err)
		require.NotEmpty(t, f.Next)
	}
	require.Contains(t, interrupted(api.VerbApply, "nats://a").Message, "may have been done")
	require.NotContains(t, interrupted(api.VerbGet, "nats://a").Message, "may have been done")
}
