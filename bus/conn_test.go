package bus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
)

// The library announces a connection a while after it is up. Who found it up is not told of it once more,
// or caches would be listed anew, and inventories told again, for nothing; it is told when it comes back.
func TestAConnectionIsAnnouncedOnceToEach(t *testing.T) {
	c := bustest.Start(t).Hub(t).Unannounced()
	var early, late int
	c.OnReconnect(func() { early++ })
	c.Announce()
	require.Zero(t, early)
	leave := c.OnReconnect(func() { late++ })
	c.Lose()
	c.Announce()
	require.Equal(t, []int{1, 1}, []int{early, late})
	leave()
	c.Lose()
	c.Announce()
	require.Equal(t, []int{2, 1}, []int{early, late})
}

// A connection that is lost before it was announced is another one when it is.
func TestAConnectionThatIsLostBeforeItIsAnnounced(t *testing.T) {
	c := bustest.Start(t).Hub(t).Unannounced()
	var told int
	c.OnReconnect(func() { told++ })
	c.Lose()
	c.Announce()
	require.Equal(t, 1, told)
}
