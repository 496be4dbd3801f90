package phrase_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/phrase"
)

func TestCounts(t *testing.T) {
	require.Equal(t, "1 node", phrase.Count(1, "node"))
	require.Equal(t, "0 nodes", phrase.Count(0, "node"))
	require.Equal(t, "are", phrase.Plural(2, "is", "are"))
}

func TestLines(t *testing.T) {
	all := []string{"a", "b", "c", "d"}
	require.Equal(t, all, phrase.Lines(all, 4))
	require.Equal(t, []string{"a", "b", "and 2 more"}, phrase.Lines(all, 2))
	require.Equal(t, []string{"a", "b", "c", "d"}, all)
}

func TestListOfNames(t *testing.T) {
	abc := []string{"a", "b", "c", "d", "e"}
	for n, want := range []struct{ names, list string }{
		{"", ""},
		{"a", "a"},
		{"a, b", "a and b"},
		{"a, b, c", "a, b and c"},
		{"a, b, c and 1 more", "a, b, c and 1 other"},
		{"a, b, c and 2 more", "a, b, c and 2 others"},
	} {
		require.Equal(t, want.names, phrase.Names(abc[:n], 3))
		require.Equal(t, want.list, phrase.List(abc[:n], 3))
	}
	require.Equal(t, strings.Repeat("a, ", 19)+"a and 2 more", phrase.Enumerate(slices.Repeat([]string{"a"}, 22)))
}

func TestSpans(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"20m": 20 * time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute, "1h0m5s": time.Hour + 5*time.Second, "0s": 0, "30s": 30 * time.Second, "10m": 10 * time.Minute,
	} {
		require.Equal(t, want, phrase.Span(d))
	}
}

func TestDigitsInGroups(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 10_000: "10,000", 1_234_567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		require.Equal(t, want, phrase.Digits(n))
	}
}
