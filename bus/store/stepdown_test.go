package store_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/subjects"
)

// Before a hub says that state on three servers is damaged it asks for another one to lead the stream, more than once:
// the one that led may be the only one whose files are.
func TestAnotherServerIsAskedBeforeStateIsDamaged(t *testing.T) {
	servers := bustest.Cluster(t)
	var gone string
	t.Run("before", func(t *testing.T) {
		store := bustest.Lead(t, bustest.HubOf(t, servers, bus.Options{}), "hub-0", store.LeadOptions{})
		filled(t, store, 3)
		settledWith(t, store)
		gone = subjects.Schedules.Key("p1")
	})
	c := bustest.HubOf(t, servers, bus.Options{})
	name := c.Fleet.BucketStream(subjects.State)
	stream, err := c.JS.Stream(bustest.Context(t), name)
	require.NoError(t, err)
	require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(c.Fleet.BucketSubject(subjects.State, gone))))
	elected, err := c.NC.SubscribeSync("$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED." + name)
	require.NoError(t, err)
	require.NoError(t, c.NC.Flush())
	found := bustest.Lead(t, c, "hub-1", store.LeadOptions{})
	require.NotNil(t, found.Damage)
	require.Equal(t, []string{gone}, found.Damage.Gone)
	leaders, _, err := elected.Pending()
	require.NoError(t, err)
	require.Greater(t, leaders, 1, "others were asked")
}
