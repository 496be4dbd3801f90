package registrar

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/liveness"
	"flotilla/tests/elsewhen"
)

// Of a member that is gone no more is kept than what bounds what it causes when it is back, and that no longer than it counts.
func TestWhoIsGoneIsForgottenOnceThatCountsNoMore(t *testing.T) {
	now := elsewhen.Now()
	r := &Registrar{known: map[string]*known{}}
	require.Zero(t, r.forget("oslo", liveness.Following{}, now))
	require.Empty(t, r.known)

	k := r.of("berlin")
	k.written = now
	require.True(t, unreadable.Take(&k.warned, now))
	require.Equal(t, now.Add(unreadable.Every), r.forget("berlin", liveness.Following{}, now))
	require.Zero(t, r.of("berlin").written)
	require.False(t, unreadable.Take(&r.of("berlin").warned, now))
	require.Zero(t, r.forget("berlin", liveness.Following{}, now.Add(unreadable.Every)))
	require.Empty(t, r.known)
}
