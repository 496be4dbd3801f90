package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// BenchmarkFanOut commands a new content to every agent, each with a connection over TCP and an
// instant target, and waits for the result of the last. It reports the seconds of one round.
func BenchmarkFanOut(b *testing.B) {
	for _, agents := range []int{10, 200} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) { fanOut(b, agents) })
	}
}

func fanOut(b *testing.B, agents int) {
	server := bustest.Start(b)
	store := server.Lead(b)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	b.Cleanup(func() { cancel(); running.Wait() })
	var names []string
	for i := range agents {
		name := fmt.Sprintf("m%03d", i)
		w, err := New(Options{
			Member: name, Hub: server.Agent(b, name), Target: memory.New(memory.Options{Name: name, Clock: memory.Running(elsewhen.Now)}), Data: b.TempDir(), Log: zerolog.Nop(),
		})
		require.NoError(b, err)
		running.Go(func() { _ = w.Run(ctx) })
		names = append(names, name)
	}
	last := make([]uint64, agents)
	round := int64(0)
	for b.Loop() {
		round++
		work := putWork(b, store, round)
		for i, name := range names {
			entry := api.IndexEntry{Placement: "web", UID: "u", Generation: round, Snapshot: round, Work: work, Piece: store.Keys.Piece(work)}
			c := api.PlacementCommand{
				Header: api.NewHeader(api.KindPlacementCommand), Member: name,
				Order: api.Order{Term: 1, Generation: uint64(round)}, Entries: []api.IndexEntry{entry},
			}
			head := streams.CommandHead{Member: name, Kind: subjects.CommandPlacement, Digest: work, Order: c.Order}
			var err error
			last[i], err = store.Commands.Publish(b.Context(), head, c, last[i])
			require.NoError(b, err)
		}
		await(b, store, names, round)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/round")
}

func putWork(b *testing.B, store *store.Store, round int64) string {
	b.Helper()
	var manifests []api.Manifest
	for i := range 3 {
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"default"},"data":{"round":"%d"}}`, i, round)
		digest := bustest.Put(b, store, []byte(body))
		manifests = append(manifests, api.Manifest{
			ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: fmt.Sprintf("c%d", i)}, Digest: digest,
		})
	}
	return bustest.PutWork(b, store, manifests)
}

func await(b *testing.B, store *store.Store, names []string, round int64) {
	b.Helper()
	waiting := slices.Clone(names)
	deadline := elsewhen.Now().Add(time.Minute)
	for len(waiting) > 0 {
		waiting = slices.DeleteFunc(waiting, func(name string) bool {
			entry, ok := store.Results.Get(subjects.ResultKey(name, subjects.CommandPlacement, "web"))
			var r api.PlacementResult
			return ok && json.Unmarshal(entry.Value, &r) == nil && r.Generation == round && r.Available == yes
		})
		require.True(b, elsewhen.Now().Before(deadline), "still waiting for %v", waiting)
		<-time.After(time.Millisecond)
	}
}
