package strict_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/strict"
)

// A selector is read up to 8 KiB: it takes a library long.
func TestSelectorsOfRequestsAreBounded(t *testing.T) {
	selector, err := strict.Selector(strings.Repeat("x,", strict.MostSelector/2-1) + "x")
	require.NoError(t, err)
	require.False(t, selector.Empty())
	_, err = strict.Selector(strings.Repeat("x", strict.MostSelector+1))
	require.ErrorContains(t, err, "it has 8193 bytes, of at most 8192")
	_, err = strict.Selector("x in")
	require.Error(t, err)
}
