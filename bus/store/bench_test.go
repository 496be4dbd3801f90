package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// BenchmarkWrite changes records of about 1 KiB over TCP: one caller, many callers, and ten records at
// once.
func BenchmarkWrite(b *testing.B) {
	record := bustest.Schedule("web", 1)
	for i := range 8 {
		record.Bindings = append(record.Bindings, api.Binding{Member: fmt.Sprintf("member-%d", i), Policy: bustest.Keys().Digest(nil), Reason: "picked"})
	}
	change := func(b *testing.B, leader *store.Store, keys ...string) {
		b.Helper()
		ops := make([]store.Op, len(keys))
		for i, key := range keys {
			ops[i] = store.Put(key, record, leader.State.Revision(key))
		}
		_, err := leader.Writer.Write(b.Context(), ops...)
		require.NoError(b, err)
	}
	b.Run("one", func(b *testing.B) {
		store := bustest.Start(b).Lead(b)
		for b.Loop() {
			change(b, store, "schedule.web")
		}
	})
	b.Run("many", func(b *testing.B) {
		store := bustest.Start(b).Lead(b)
		var caller atomic.Int64
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			key := fmt.Sprintf("schedule.p%d", caller.Add(1))
			for p.Next() {
				change(b, store, key)
			}
		})
	})
	b.Run("ten", func(b *testing.B) {
		store := bustest.Start(b).Lead(b)
		var keys []string
		for i := range 10 {
			keys = append(keys, fmt.Sprintf("schedule.p%d", i))
		}
		for b.Loop() {
			change(b, store, keys...)
		}
	})
}

// BenchmarkList fills a cache and a table from a bucket of 10,000 records.
func BenchmarkList(b *testing.B) {
	const records = 10_000
	leader := bustest.Start(b).Lead(b)
	for i := 0; i < records; i += 500 {
		var ops []store.Op
		for j := range 500 {
			ops = append(ops, store.Put(fmt.Sprintf("schedule.p%d", i+j), bustest.Schedule("p", 1), 0))
		}
		_, err := leader.Writer.Write(b.Context(), ops...)
		require.NoError(b, err)
	}
	table := store.TableOf[api.Schedule](leader.State, subjects.Schedules)
	for b.Loop() {
		require.NoError(b, leader.State.Relist(b.Context()))
	}
	require.Equal(b, records, table.Len())
}
