package store_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/subjects"
)

// replicas is how many replicas the stream of a bucket has.
func replicas(t *testing.T, c *bus.Conn, bucket string) int {
	t.Helper()
	stream, err := c.JS.Stream(t.Context(), c.Fleet.BucketStream(bucket))
	require.NoError(t, err)
	return stream.CachedInfo().Config.Replicas
}

// What was made with one replica is named with the command that makes it three, and is let alone.
func TestStreamsWithFewerReplicasAreNamed(t *testing.T) {
	c := bustest.HubOf(t, bustest.Cluster(t), bus.Options{})
	_, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{Replicas: 1})
	require.NoError(t, err)
	require.Equal(t, 1, replicas(t, c, subjects.State))
	report, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	require.Len(t, report.Differences, len(subjects.Assets()))
	name := c.Fleet.BucketStream(subjects.State)
	require.Contains(t, report.Differences, streams.Difference{Stream: name, Field: "num_replicas", Found: "1", Wanted: "3"})
	require.Equal(t, "nats stream edit "+name+" --replicas=3", report.Differences[0].Command())
	require.Equal(t, 1, replicas(t, c, subjects.State))
}

func TestReplicasThatNoServersAreThereFor(t *testing.T) {
	c := bustest.Start(t).Hub(t)
	_, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{Replicas: 3})
	require.ErrorContains(t, err, "no 3 servers could take a replica")
	require.ErrorContains(t, err, "--replicas")
}

// A client may know the address of one server of a cluster alone: how many there are the servers know.
func TestReplicasOfAClusterThatTellsNoAddresses(t *testing.T) {
	servers := bustest.Cluster(t, func(o *server.Options) { o.Cluster.NoAdvertise = true })
	c := bustest.HubOf(t, servers[:1], bus.Options{})
	require.Len(t, c.NC.Servers(), 1)
	_, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	require.Equal(t, 3, replicas(t, c, subjects.State))
	report, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Differences, "nobody is told to take replicas away")
}

// Servers that start together are not there at the same moment; what is made then has three replicas all the same.
func TestReplicasOfAClusterThatGathers(t *testing.T) {
	options := bustest.ClusterOptions(t)
	var first []*server.Server
	for _, o := range options[:2] {
		o.Routes = o.Routes[:2]
		first = append(first, bustest.StartServer(t, o))
	}
	bustest.AwaitLeader(t, first)
	c := bustest.HubOf(t, first, bus.Options{})
	_, err := c.JS.CreateStream(bustest.Context(t), jetstream.StreamConfig{Name: "three", Replicas: 3})
	require.ErrorContains(t, err, "no suitable peers")
	made := make(chan error, 1)
	go func() {
		_, err := streams.EnsureFirst(bustest.Context(t), c, streams.LayoutOptions{})
		made <- err
	}()
	bustest.StartServer(t, options[2])
	require.NoError(t, <-made)
	_, err = streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	for _, a := range subjects.Assets() {
		stream, err := c.JS.Stream(t.Context(), a.StreamName(c.Fleet))
		require.NoError(t, err)
		require.Equal(t, 3, stream.CachedInfo().Config.Replicas, a.Short)
	}
}
