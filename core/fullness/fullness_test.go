package fullness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func results(bytes int64) Stream {
	return Stream{
		Name: "KV_flotilla_default_result", Bytes: bytes, MostBytes: 1000, Messages: 7, Help: "give more room",
		Members: map[string]int64{"oslo": 10, "paris": 700, "rome": 10, "berlin": 10, "quiet": 0},
	}
}

// One is told of from 80 % on, once, until it is below 75 %, once.
func TestAStreamFillsUpAndEmpties(t *testing.T) {
	var filling []Filling
	var told []string
	for i, bytes := range []int64{799, 800, 900, 750, 749, 790, 801} {
		now := noon.Add(time.Duration(i) * time.Minute)
		var events []api.Audit
		filling, events = Judge(filling, []Stream{results(bytes)}, now)
		for _, e := range events {
			require.Equal(t, "stream/KV_flotilla_default_result", e.Object)
			require.True(t, e.At.Time.Equal(now))
			told = append(told, e.Type+" "+e.Reason+": "+e.Message)
		}
		if i == 2 || i == 3 {
			require.Len(t, filling, 1)
			require.Equal(t, noon.Add(time.Minute), filling[0].Since)
		}
	}
	require.Equal(t, []string{
		"Warning StreamFilling: it is 80 % full, 800 bytes of 1000 bytes; what does not fit is refused; " +
			"of 5 members most is of paris (700 bytes), berlin (10 bytes), oslo (10 bytes): give more room",
		"Normal StreamHasRoom: there is room again: it is 74 % full, 749 bytes of 1000 bytes",
		"Warning StreamFilling: it is 80 % full, 801 bytes of 1000 bytes; what does not fit is refused; " +
			"of 5 members most is of paris (700 bytes), berlin (10 bytes), oslo (10 bytes): give more room",
	}, told)
}

// Whichever limit is nearer counts, and is named; a stream without limits never fills up.
func TestTheNearerLimitCounts(t *testing.T) {
	for _, c := range []struct {
		stream Stream
		want   int
		held   string
	}{
		{Stream{Name: "a", Bytes: 900, MostBytes: 1000, Messages: 1, MostMessages: 10}, 90, "900 bytes of 1000 bytes"},
		{Stream{Name: "b", Bytes: 1, MostBytes: 1000, Messages: 9, MostMessages: 10}, 90, "9 of 10 messages"},
		{Stream{Name: "c", Messages: 8, MostMessages: 10}, 80, "8 of 10 messages"},
		{Stream{Name: "d", Bytes: 1 << 40, Messages: 1 << 40}, 0, ""},
	} {
		filling, events := Judge(nil, []Stream{c.stream}, noon)
		require.Equal(t, c.want, c.stream.Percent(), c.stream.Name)
		if c.held == "" {
			require.Empty(t, events)
			continue
		}
		require.Len(t, filling, 1)
		require.Contains(t, filling[0].Text(), c.held)
	}
}

// Streams are judged apart, and a stream that is gone is told of no more.
func TestEachStreamByItself(t *testing.T) {
	full := func(name string) Stream { return Stream{Name: name, Bytes: 9, MostBytes: 10, Help: "h"} }
	filling, events := Judge(nil, []Stream{full("b"), full("a"), {Name: "c", Bytes: 1, MostBytes: 10}}, noon)
	require.Len(t, events, 2)
	require.Equal(t, []string{"a", "b"}, []string{filling[0].Name, filling[1].Name})
	filling, events = Judge(filling, []Stream{full("b")}, noon)
	require.Empty(t, events)
	require.Len(t, filling, 1)
	rolls := full("d")
	rolls.Rolls = true
	filling, _ = Judge(nil, []Stream{rolls}, noon)
	require.Empty(t, filling, "the oldest gives way")
}
