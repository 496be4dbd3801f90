package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/store"
)

func TestInverse(t *testing.T) {
	var x store.Inverse
	require.Empty(t, x.Of("berlin"))
	x.Set("web", []string{"berlin", "oslo"})
	x.Set("api", []string{"oslo"})
	require.Equal(t, []string{"api", "web"}, x.Of("oslo"))
	x.Set("web", []string{"berlin", "paris"})
	require.Equal(t, []string{"api"}, x.Of("oslo"))
	require.Equal(t, []string{"web"}, x.Of("paris"))
	x.Set("web", nil)
	x.Set("web", nil)
	require.Empty(t, x.Of("berlin"))
	require.Equal(t, 1, x.Len(), "members that nothing names are forgotten")
}
