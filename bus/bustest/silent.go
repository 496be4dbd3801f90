package bustest

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dialling is how long a machine may take to answer for a connection.
const dialling = 10 * time.Second

// Silent opens so many connections to an address and says nothing on them, until they are closed. Those that the other side closes are
// not made again.
func Silent(t testing.TB, address string, count int) (closeAll func()) {
	t.Helper()
	var open []net.Conn
	for range count {
		conn, err := net.DialTimeout("tcp", address, dialling)
		require.NoError(t, err)
		open = append(open, conn)
	}
	closeAll = sync.OnceFunc(func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	t.Cleanup(closeAll)
	return closeAll
}
