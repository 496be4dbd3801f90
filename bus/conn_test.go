package bus_test

import (
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
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

// A flood of requests is lost to who sent it. Feeds are told only of what is dropped where they follow, or one person would have all of them
// listed anew.
func TestDroppedRequestsDisturbNoFeed(t *testing.T) {
	c := bustest.Start(t).Hub(t)
	var slow atomic.Int64
	about := make(chan string, 2)
	defer c.Listen(func(d bus.Disturbance, _ error) {
		if d == bus.Slow {
			slow.Add(1)
		}
	})()
	report := c.NC.ErrorHandler()
	c.NC.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		report(nc, sub, err)
		about <- sub.Subject
	})
	held := make(chan struct{})
	defer close(held)
	for told, subject := range []string{c.Fleet.Forward(), nats.NewInbox()} {
		sub, err := c.NC.Subscribe(subject, func(*nats.Msg) { <-held })
		require.NoError(t, err)
		require.NoError(t, sub.SetPendingLimits(1, -1))
		for range 10 {
			require.NoError(t, c.NC.Publish(subject, nil))
		}
		require.Equal(t, subject, <-about)
		require.EqualValues(t, told, slow.Load())
	}
}
