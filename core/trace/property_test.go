package trace_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/trace"
)

// Whatever clocks, records and agents say, hops of a member never go back, what they took adds up to the whole, what waits
// stands before what is pending, and what had to be moved says so.
func TestHopsNeverGoBackAndAddUp(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := newWorld()
		disturb(r, w)
		got := trace.Of(w.Input)
		require.Len(t, got.Members, 3)
		require.Equal(t, got, trace.Of(w.Input), "it is asked twice")
		for _, m := range got.Members {
			sound(t, seed, &m)
		}
		for _, h := range got.Hops {
			require.True(t, 0 <= h.P50Ms && h.P50Ms <= h.P90Ms && h.P90Ms <= h.MaxMs, "seed %d: %+v", seed, h)
		}
	}
}

// sound says what must hold of the way to a member.
func sound(t *testing.T, seed uint64, m *api.TracedMember) {
	t.Helper()
	var last time.Time
	sum, waiting := int64(0), false
	for _, h := range m.Hops {
		require.GreaterOrEqual(t, h.TookMs, int64(0), "seed %d, %s: %+v", seed, m.Member, m.Hops)
		require.Equal(t, waiting, h.State == api.HopPending, "seed %d, %s: %+v", seed, m.Member, m.Hops)
		waiting = waiting || h.State == api.HopWaits
		if h.State != api.HopDone {
			require.Zero(t, h.TookMs)
			continue
		}
		require.False(t, h.At.Time.Before(last), "seed %d, %s: %+v", seed, m.Member, m.Hops)
		last, sum = h.At.Time, sum+h.TookMs
	}
	require.Equal(t, m.TookMs, sum, "seed %d, %s: %+v", seed, m.Member, m.Hops)
	require.Equal(t, m.Done, !waiting)
}

// disturb has everything that can be told told wrong, or not at all, now and then.
func disturb(r *rand.Rand, w *world) {
	span := func() time.Duration { return time.Duration(r.Int64N(int64(4*time.Hour))) - 2*time.Hour }
	sometimes := func() bool { return r.IntN(4) == 0 }
	for _, at := range []*time.Time{&w.Stored.Spec, &w.Stored.Snapshot, &w.Stored.Release, &w.Now} {
		if sometimes() {
			*at = at.Add(span())
		}
		if sometimes() {
			*at = time.Time{}
		}
	}
	for i := range w.Past {
		if sometimes() {
			w.Past[i].Stored = w.Past[i].Stored.Add(span())
		}
	}
	if sometimes() {
		w.Past = w.Past[r.IntN(len(w.Past)):]
	}
	for i := range w.Release.Entries {
		if sometimes() {
			w.Release.Entries[i].Since.Time = w.Release.Entries[i].Since.Add(span())
		}
		w.Release.Entries[i].Withdrawn = sometimes()
		if sometimes() {
			w.Release.Entries[i].Generation = 2
		}
	}
	for _, k := range w.known {
		disturbMember(r, k, span, sometimes)
	}
}

func disturbMember(r *rand.Rand, k *trace.Known, span func() time.Duration, sometimes func() bool) {
	for _, at := range []*time.Time{&k.Sent, &k.Beat, &k.Stored, &k.Commands[0].Stored} {
		if sometimes() {
			*at = at.Add(span())
		}
	}
	if sometimes() {
		k.Commands = nil
	}
	times := k.Result.Times
	for _, ms := range []*int64{&times.Received, times.Applied, times.Available} {
		switch {
		case sometimes():
			*ms += span().Milliseconds()
		case r.IntN(30) == 0:
			*ms = r.Int64() - r.Int64()
		}
	}
	times.Late, k.Replayed = sometimes(), sometimes()
	switch r.IntN(8) {
	case 0:
		k.Result = nil
	case 1:
		k.Result.Times = nil
	case 2:
		k.Result.Available, times.Available = "False", nil
	case 3:
		k.Result.Applied, k.Result.Available = "False", ""
		times.Applied, times.Available = nil, nil
	}
}
