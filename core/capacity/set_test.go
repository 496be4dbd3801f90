package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Bounds that are open to one side hold values, and bounds that cross hold none.
func TestSetBounds(t *testing.T) {
	below, above := SetOf("Lt", []string{"3"}), SetOf("Gt", []string{"5"})
	for _, s := range []Set{below, above, SetOf("Lte", []string{"3"}), SetOf("Gte", []string{"5"})} {
		require.False(t, s.None())
		require.True(t, s.meets(&s))
	}
	both := below.and(&above)
	require.True(t, both.None())
	least := SetOf("Lt", []string{"5"})
	touching := least.and(&above)
	require.True(t, touching.None(), "no number is above 5 and below 5")
	least = SetOf("Lt", []string{"7"})
	one := least.and(&above)
	require.False(t, one.None(), "6 is above 5 and below 7")
	require.False(t, below.meets(&above))
	beside := SetOf("Gt", []string{"2"})
	between := below.and(&beside)
	require.True(t, between.None(), "no whole number is above 2 and below 3")
}
