package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Bounds that are open to one side hold values, and bounds that cross hold none.
func TestSetBounds(t *testing.T) {
	below, above := setOf("Lt", []string{"3"}), setOf("Gt", []string{"5"})
	for _, s := range []set{below, above, setOf("Lte", []string{"3"}), setOf("Gte", []string{"5"})} {
		require.False(t, s.none())
		require.True(t, s.meets(&s))
	}
	both := below.and(&above)
	require.True(t, both.none())
	require.False(t, below.meets(&above))
	beside := setOf("Gt", []string{"2"})
	between := below.and(&beside)
	require.True(t, between.none(), "no whole number is above 2 and below 3")
}
