package front

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the changes of a kind so many are kept for who resumes, and of large objects fewer.
func TestChangesThatAreKeptAreBounded(t *testing.T) {
	of := func(count, size int) (ring []change) {
		for range count {
			ring = append(ring, change{size: size})
		}
		return ring
	}
	require.Zero(t, beyond(nil))
	require.Zero(t, beyond(of(ringLength, 100)))
	require.Equal(t, 10, beyond(of(ringLength+10, 100)))
	require.Zero(t, beyond(of(16, 1<<20)))
	require.Equal(t, 24, beyond(of(40, 1<<20)))
	require.Equal(t, 1, beyond(of(1, ringBytes+1)), "who watches lists anew")
}
