package gate

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One network has half of the places that change hands in a second, whosever they were; all networks together have as many as there are, and
// as many more those that have caused none in that second (H47).
func TestPlacesChangeHandsAtARateByNetwork(t *testing.T) {
	t.Parallel()
	c, now := newClosings(400), time.Unix(0, 0)
	times := func(network string, comes int) (let int) {
		for range comes {
			if c.allow(network, now) {
				let++
			}
		}
		return let
	}
	require.Equal(t, 200, times("eve", 1000))
	require.Equal(t, 200, times("mallory", 1000))
	require.Equal(t, 1, times("olga", 10), "who came not yet is let in once")
	rotating := func(networks int) (let int) {
		for i := range networks {
			let += times(fmt.Sprint("net", i), 1)
		}
		return let
	}
	require.Equal(t, 399, rotating(5000))
	require.Zero(t, times("vic", 1))
	now = now.Add(999 * time.Millisecond)
	require.Zero(t, times("vic", 1))
	now = now.Add(time.Millisecond)
	require.Equal(t, 200, times("eve", 1000))
	require.Equal(t, 1, times("vic", 1))
	require.Len(t, c.of, 2, "what is over is forgotten")
	for places, want := range map[int]int{1: fewClosings, 400: 400, 4096: mostClosings} {
		require.Equal(t, want, newClosings(places).most)
	}
}
