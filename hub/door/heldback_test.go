package door

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/health"
)

// Who asks too much is a problem of the fleet for a minute, and told of once in it.
func TestWhoAsksTooMuchIsNamed(t *testing.T) {
	h, now := newHeldBack(), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	require.Empty(t, h.problems(now))
	require.True(t, h.note("vic", now))
	require.False(t, h.note("vic", now.Add(59*time.Second)))
	require.True(t, h.note("anna", now.Add(30*time.Second)))
	problems := h.problems(now.Add(59 * time.Second))
	require.Len(t, problems, 2)
	require.Equal(t, "user/anna", problems[0].Object)
	require.Equal(t, health.ReasonHeldBack, problems[1].Reason)
	require.Equal(t, "flotilla events --by vic", problems[1].Next)
	require.True(t, problems[1].Since.Time.Equal(now))
	require.Len(t, h.problems(now.Add(time.Minute)), 1)
	require.True(t, h.note("vic", now.Add(time.Minute)))
	require.Empty(t, h.problems(now.Add(time.Hour)))
}
