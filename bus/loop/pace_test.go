package loop

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPace(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := NewPace(3, time.Second)
	count := func(who string) (n int) {
		for p.Allows(who, now) {
			n++
		}
		return n
	}
	require.Equal(t, 3, count("anna"))
	require.Equal(t, 3, count("eve"), "each by themselves")
	now = now.Add(1500 * time.Millisecond)
	require.Equal(t, 1, count("anna"))
	now = now.Add(time.Hour)
	require.Equal(t, 3, count("anna"), "no more than at once")
}

func TestAPaceRemembersNoMoreThanSoMany(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := NewPace(1, time.Second)
	for i := range mostPaced {
		require.True(t, p.Allows(strconv.Itoa(i), now))
	}
	now = now.Add(time.Second)
	require.True(t, p.Allows("anna", now))
	require.Len(t, p.of, 1, "the others are strangers again")
	for i := range mostPaced {
		p.Allows(strconv.Itoa(i), now)
	}
	require.LessOrEqual(t, len(p.of), mostPaced)
}
