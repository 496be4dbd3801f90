package reads

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A connection reads nothing while the brake holds it, and for a second at most.
func TestABrakeHoldsForAWhile(t *testing.T) {
	for name, ends := range map[string]bool{"that is let go": true, "that never is": false} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			t.Cleanup(func() { require.NoError(t, near.Close()) })
			var holds atomic.Bool
			holds.Store(true)
			asked, read := make(chan struct{}, 1), make(chan error, 1)
			c := &brakedConn{near, func() bool {
				select {
				case asked <- struct{}{}:
				default:
				}
				return holds.Load()
			}}
			began := time.Now()
			go func() {
				_, err := c.Read(make([]byte, 1))
				read <- err
			}()
			<-asked
			if ends {
				require.Empty(t, read)
				holds.Store(false)
			}
			_, err := far.Write([]byte("x"))
			require.NoError(t, err)
			require.NoError(t, <-read)
			if !ends {
				require.GreaterOrEqual(t, time.Since(began), brakeMost)
			}
		})
	}
}
