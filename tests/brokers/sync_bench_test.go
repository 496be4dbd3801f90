package brokers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
)

// What it costs that three servers write to the disk before they acknowledge: writes of 1 KiB to a stream of three replicas, one after
// another, and a hundred at once.
func BenchmarkSync(b *testing.B) {
	for _, interval := range []string{"1s", "always"} {
		s := newSystem(b, "n1", "n2", "n3")
		for name, path := range s.configs {
			s.stop(name)
			server := filepath.Join(filepath.Dir(path), "server.conf")
			text, err := os.ReadFile(server)
			require.NoError(b, err)
			changed := strings.Replace(string(text), "sync_interval: 1s", "sync_interval: "+interval, 1)
			require.Contains(b, changed, "sync_interval: "+interval)
			require.NoError(b, os.WriteFile(server, []byte(changed), 0o600))
		}
		for name := range s.configs {
			s.start(name)
		}
		hub := s.client(s.url(), filepath.Join(s.accounts, "hub.creds"), "")
		s.whole(b)
		_, err := hub.JS.CreateStream(bustest.Context(b), jetstream.StreamConfig{Name: "BENCH", Subjects: []string{"bench.>"}, Replicas: 3, MaxMsgsPerSubject: 1})
		require.NoError(b, err)
		for _, atOnce := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/%d", interval, atOnce), func(b *testing.B) { write(b, hub.JS, atOnce) })
		}
	}
}

// write writes messages, so many of which wait for their acknowledgement at any time.
func write(b *testing.B, js jetstream.JetStream, atOnce int) {
	body := make([]byte, 1024)
	waiting := make(chan jetstream.PubAckFuture, atOnce)
	await := func() {
		ack := <-waiting
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			require.NoError(b, err)
		}
	}
	for i := range b.N {
		if len(waiting) == atOnce {
			await()
		}
		ack, err := js.PublishAsync(fmt.Sprintf("bench.%d", i%1000), body)
		require.NoError(b, err)
		waiting <- ack
	}
	for len(waiting) > 0 {
		await()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}
