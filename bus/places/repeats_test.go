package places

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A request that comes again while it is worked on is answered with the first, and not worked on twice (H41).
func TestARepeatIsWorkedOnOnce(t *testing.T) {
	var r Repeats[string, int]
	first, is := r.Join("a", 1)
	require.True(t, is)
	for try := 2; try <= 6; try++ {
		same, is := r.Join("a", try)
		require.False(t, is)
		require.Same(t, first, same)
	}
	other, is := r.Join("b", 7)
	require.True(t, is)
	require.Equal(t, []int{3, 4, 5, 6}, r.End(first), "a client listens to its last try")
	require.Equal(t, []int{7}, r.End(other))
	later, is := r.Join("a", 8)
	require.True(t, is, "what comes after the answer is a request of its own")
	require.Equal(t, []int{8}, r.End(later))
	for range 2 {
		require.Equal(t, []int{9}, r.End(r.Alone(9)))
	}
	require.Empty(t, r.running)
}
