package strict_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/strict"
)

// A key is compared with names up to a length; a longer one is meant to be no name, not even one that it is.
func TestALongKeyIsMeantToBeNoName(t *testing.T) {
	for _, c := range []struct {
		length int
		meant  bool
	}{{1, true}, {63, true}, {strict.LongestMeant, true}, {strict.LongestMeant + 1, false}, {1 << 20, false}} {
		name := strings.Repeat("a", c.length)
		require.Equal(t, c.meant, strict.Nearest(name, []string{"other", name}) == name, c.length)
		require.Equal(t, c.meant, strict.Nearest(strings.ToUpper(name), []string{name}) == name, c.length)
	}
	require.Equal(t, "region", strict.Nearest("regoin", []string{strings.Repeat("region", 1<<20), "region"}))
}

// What is passed over, and where a comparison ends early, makes no difference to which name is found.
func TestNearestIsTheFirstOfTheLeastDistance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		names := make([]string, 1+random.IntN(6))
		for i := range names {
			names[i] = word(random)
		}
		key := word(random)
		if random.IntN(2) == 0 {
			key = misspelt(random, names[random.IntN(len(names))])
		}
		best, least := "", 1+max(1, len(key)/4)
		for _, name := range names {
			if d := strict.Distance(strings.ToLower(key), strings.ToLower(name)); d < least {
				best, least = name, d
			}
		}
		require.Equal(t, best, strict.Nearest(key, names), "%q among %q", key, names)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"abc", "acb", 1},
		{"abc", "bca", 2},
		{"ca", "abc", 3},
		{"abcdef", "badcfe", 3},
		{"kitten", "sitting", 3},
		{"aaaa", "bbbb", 4},
	} {
		require.Equal(t, c.want, strict.Distance(c.a, c.b), "%q and %q", c.a, c.b)
		require.Equal(t, c.want, strict.Distance(c.b, c.a), "%q and %q", c.b, c.a)
	}
}

// word is one of few letters, so that many are near each other.
func word(random *rand.Rand) string {
	text := make([]byte, random.IntN(24))
	for i := range text {
		text[i] = "aAbBc"[random.IntN(5)]
	}
	return string(text)
}

// misspelt is a word with a few mistakes.
func misspelt(random *rand.Rand, word string) string {
	text := []byte(word)
	for range random.IntN(5) {
		i := random.IntN(len(text) + 1)
		switch {
		case random.IntN(3) == 0:
			text = slices.Insert(text, i, 'x')
		case i+1 < len(text) && random.IntN(2) == 0:
			text[i], text[i+1] = text[i+1], text[i]
		case i < len(text):
			text = slices.Delete(text, i, i+1)
		}
	}
	return string(text)
}

// BenchmarkNearest finds what keys are meant to be among the names of a large fleet.
func BenchmarkNearest(b *testing.B) {
	names := make([]string, 5_000)
	for i := range names {
		names[i] = "member-" + strings.Repeat(string(rune('a'+i%26)), 1+i%40)
	}
	for of, key := range map[string]string{"near": "membre-cccc", "far": "xxxxxxxxxxxxxxxxxxxx", "long": strings.Repeat("member-", 150_000)} {
		b.Run(of, func(b *testing.B) {
			for b.Loop() {
				strict.Nearest(key, names)
			}
		})
	}
}
