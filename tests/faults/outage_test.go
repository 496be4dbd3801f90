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
// writing gets no answer: the median of the faults, and the worst; and how long, at worst, it waits for one answer once it
// got one again, until the process that was harmed runs once more.
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
			after := time.Duration(0)
			for n := 0; b.Loop(); n++ {
				s := fault
				if s.Whom == "broker" {
					s.Whom = fmt.Sprintf("broker-%d", n%3)
				}
				longest, later := f.outage(b, w, s)
				gaps, after = append(gaps, longest), max(after, later)
			}
			slices.Sort(gaps)
			b.ReportMetric(gaps[len(gaps)/2].Seconds(), "median-s")
			b.ReportMetric(gaps[len(gaps)-1].Seconds(), "worst-s")
			b.ReportMetric(after.Seconds(), "after-s")
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

// outage does something to a process, and returns how long no write was acknowledged, and the longest wait after that.
// It returns once the process runs again, and writes are acknowledged.
func (f *fleet) outage(b *testing.B, w *writer, s step) (longest, later time.Duration) {
	b.Helper()
	v := f.victim(b, s.Whom)
	harmed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		longest, later = w.outage(b.Context(), harmed)
	}()
	f.harm(b, v, s, w.take, w.since)
	close(harmed)
	<-ended
	return longest, later
}

// outage writes until a write is acknowledged after harmed was closed, or ctx ends, and returns how long none was, and
// the longest wait after that.
func (w *writer) outage(ctx context.Context, harmed <-chan struct{}) (longest, later time.Duration) {
	last := w.since()
	for over := false; ctx.Err() == nil; {
		if w.apply(ctx, appName(0)) == nil {
			gap := w.since() - last
			if later, last = max(later, gap), w.since(); gap > longest {
				longest, later = gap, 0
			}
			if over {
				return longest, later
			}
		}
		select {
		case <-harmed:
			over = true
		default:
		}
	}
	return longest, later
}
