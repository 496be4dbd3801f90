package streams_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/subjects"
)

// The library gives a page up that a busy server does not begin with within a second or two, and says nothing: that is no end of the stream.
func TestAPageThatComesLateIsNoEnd(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	for _, node := range []string{"a", "b", "c"} {
		_, err := leader.Conn.JS.Publish(t.Context(), leader.Conn.Fleet.NodeEvent("berlin", node), []byte("{}"))
		require.NoError(t, err)
	}
	proxy, conn := server.ProxiedHub(t)
	before := conn.NC.NumSubscriptions() + 1 // answers of requests have one
	held := proxy.HoldAfter("$JS.API.CONSUMER.MSG.NEXT.", 0)
	read := make(chan error, 1)
	found := 0
	go func() {
		read <- streams.Each(t.Context(), conn, conn.Fleet.Stream(subjects.Events), jetstream.ConsumerConfig{}, func(jetstream.Msg, *jetstream.MsgMetadata) { found++ })
	}()
	<-held
	bustest.Eventually(t, func() error {
		if conn.NC.NumSubscriptions() > before {
			return errors.New("the library waits")
		}
		return nil
	})
	proxy.Release()
	require.NoError(t, <-read)
	require.Equal(t, 3, found)
}
