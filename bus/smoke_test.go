package bus

import (
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	t0 := time.Now()
	s, err := StartServer(ServerOptions{Dir: t.TempDir(), Port: -1, Fleet: "test", Log: zerolog.New(zerolog.NewTestWriter(t))})
	require.NoError(t, err)
	t.Log("start", time.Since(t0))
	defer s.Shutdown()
	t0 = time.Now()
	c, err := ConnectHub(t.Context(), Options{Fleet: "test", URL: s.URL(), Creds: s.HubCreds(), Log: zerolog.New(zerolog.NewTestWriter(t))})
	require.NoError(t, err)
	defer c.Close()
	t.Log("connect", time.Since(t0))
	t0 = time.Now()
	r, err := EnsureLayout(t.Context(), c, LayoutOptions{})
	require.NoError(t, err)
	t.Log("layout", time.Since(t0), r)
	t0 = time.Now()
	r, err = EnsureLayout(t.Context(), c, LayoutOptions{})
	require.NoError(t, err)
	t.Log("layout again", time.Since(t0), r)
	require.Empty(t, r.Differences)
}
