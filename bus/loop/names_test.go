package loop

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesHaveNoneTwice(t *testing.T) {
	var n Names
	require.Empty(t, n.List())
	require.Empty(t, n.Take())
	for _, name := range []string{"berlin", "oslo", "berlin", "paris"} {
		n.Add(name)
	}
	n.Remove("paris")
	n.Remove("lyon")
	require.ElementsMatch(t, []string{"berlin", "oslo"}, n.List())
	require.ElementsMatch(t, []string{"berlin", "oslo"}, n.Take())
	require.Empty(t, n.List())
}
