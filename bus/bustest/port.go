package bustest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ports below those that systems give to outgoing connections: while a child is down, nobody is given its own.
const (
	firstPort = 20000
	lastPort  = 32000
)

// given are the ports that tests of this process have, or had.
var given sync.Map

// FreePort is a port of the loopback address that nobody listens on, and that no other test is given.
func FreePort(t testing.TB) string {
	t.Helper()
	t.Helper()
	for range lastPort - firstPort {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort))
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		require.NoError(t, err)
		require.NoError(t, listener.Close())
		return port
	}
	require.Fail(t, "all ports are taken")
	return ""
}
