package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Overrides beyond how many there may be are refused as they are made, of each namespace and of the fleet; those that are
// there already may be written.
func TestTooManyOverridesAreRefused(t *testing.T) {
	of := func(namespace string, n int) (all []*Override) {
		for range n {
			all = append(all, &Override{Namespace: namespace})
		}
		return all
	}
	none := func(string) bool { return false }
	require.Empty(t, Crowd(of("", 1), of("", api.MaxOverrides-1), none))
	require.Empty(t, Crowd(of("", 1), of("shop", api.MaxOverrides), none), "each counts where it is")
	require.Empty(t, Crowd(of("", 1), of("", api.MaxOverrides), func(string) bool { return true }), "it is there already")
	require.ErrorContains(t, Crowd(of("", 1), of("", api.MaxOverrides), none), "ClusterResourceOverrides in the fleet, expected at most")
	require.ErrorContains(t, Crowd(of("shop", 2), of("shop", api.MaxOverrides-1), none), "ResourceOverrides in namespace shop, expected at most")
}
