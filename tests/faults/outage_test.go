package faults

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/tests/elsewhen"
)

// BenchmarkOutage breaks a cluster with the waits of production, and measures for how long a client that goes on
// writing gets no answer: the median of the faults, and the worst.
func BenchmarkOutage(b *testing.B) {
	for _, fault := range []step{
		{What: stop, Whom: leader, For: 30 * time.Second},
		{What: kill, Whom: leader, For: time.Second},
		{What: end, Whom: leader, For: 10 * time.Second},
		{What: kill, Whom: "broker", For: time.Second},
	} {
		b.Run(fault.What+"-"+fault.Whom, func(b *testing.B) {
			f := startFleet(b, modeCluster, nil, nil)
			w := f.outageWriter(b)
			var gaps []time.Duration
			for n := 0; b.Loop(); n++ {
				s := fault
				if s.Whom == "broker" {
					s.Whom = fmt.Sprintf("broker-%d", n%3)
				}
				gaps = append(gaps, f.outage(b, w, s))
			}
			slices.Sort(gaps)
			b.ReportMetric(gaps[len(gaps)/2].Seconds(), "median-s")
			b.ReportMetric(gaps[len(gaps)-1].Seconds(), "worst-s")
		})
	}
}

func (f *fleet) outageWriter(b *testing.B) *writer {
	b.Helper()
	began := elsewhen.Now()
	conn := f.connect(b, "outage")
	b.Cleanup(conn.Close)
	w := &writer{name: "outage", conn: conn, take: &Recorder{}, since: func() time.Duration { return elsewhen.Since(began) }, turns: &atomic.Int64{}}
	require.NoError(b, w.setUp(b.Context(), appName(0)))
	return w
}

// outage does something to a process, and returns how long no write was acknowledged. It returns once the process
// runs again, and writes are acknowledged.
func (f *fleet) outage(b *testing.B, w *writer, s step) time.Duration {
	b.Helper()
	v := f.victim(b, s.Whom)
	harmed, outages := make(chan struct{}), make(chan time.Duration, 1)
	go func() { outages <- w.outage(b.Context(), harmed) }()
	f.harm(b, v, s, w.take, w.since)
	close(harmed)
	return <-outages
}

// outage writes until a write is acknowledged after harmed was closed, or ctx ends, and returns how long none was.
func (w *writer) outage(ctx context.Context, harmed <-chan struct{}) time.Duration {
	longest, last := time.Duration(0), w.since()
	for over := false; ctx.Err() == nil; {
		if w.apply(ctx, appName(0)) == nil {
			longest, last = max(longest, w.since()-last), w.since()
			if over {
				return longest
			}
		}
		select {
		case <-harmed:
			over = true
		default:
		}
	}
	return longest
}
