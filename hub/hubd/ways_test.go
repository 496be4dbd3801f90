package hubd

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// All ways into a hub together take at most four fifths of the descriptors, and each takes some.
func TestAFifthOfTheDescriptorsStaysForFiles(t *testing.T) {
	for _, descriptors := range []int{64, 256, 399, 400, 1024, 20_000, 65_536, 1 << 20, 1 << 31} {
		most := sharesOf(descriptors)
		for _, share := range []int{most.nats, most.page, most.front, most.metrics} {
			require.Positive(t, share)
		}
		require.LessOrEqual(t, most.nats+most.page+most.front+most.metrics, descriptors/5*4, descriptors)
		require.LessOrEqual(t, most.nats, mostOfNATS)
	}
	require.Equal(t, shares{nats: 200, page: 40, front: 40, metrics: 20}, sharesOf(400))
}

// A limit that is reached is told once, however often connections come and go and numbers change, and once more when it is over.
func TestALimitOfConnectionsIsToldOnce(t *testing.T) {
	var text bytes.Buffer
	log := zerolog.New(&text)
	w, now := &ways{full: map[string]fullness{}}, time.Unix(0, 0)
	began := now
	for i := range 100 {
		var full []api.Problem
		if i%7 == 0 {
			full = []api.Problem{{Object: "hub/one", Message: "the NATS server: 200 are open; " + strings.Repeat("x", i)}, {Object: "member/mallory", Message: "opens too many: cut"}}
		}
		w.note(now, full, log)
		require.Len(t, w.problems(), 2)
		require.Equal(t, began, w.problems()[0].Since.Time)
		now = now.Add(time.Second)
	}
	require.Equal(t, 2, strings.Count(text.String(), "\n"), text.String())
	w.note(now.Add(calm), nil, log)
	require.Empty(t, w.problems())
	require.Equal(t, 4, strings.Count(text.String(), "\n"), text.String())
}

// A command lists who is connected, whatever the way listens at.
func TestWhoIsConnectedIsListedByPort(t *testing.T) {
	for _, address := range []string{"0.0.0.0:4222", "[::1]:4222", net.JoinHostPort("fleet.example.com", "4222")} {
		require.Equal(t, "ss -tn state established 'sport = :4222'", connectedTo(address))
	}
}
