package resource

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotesOfManyMembersAreFolded(t *testing.T) {
	require.Equal(t, []string{"member a: x: y", "member b: x: y", "z"}, foldNotes([]string{"member a: x: y", "member b: x: y", "z"}))
	require.Equal(t, []string{"z", "members a, b, c and 1 more: x: y", "member e: w"},
		foldNotes([]string{"z", "member a: x: y", "member b: x: y", "member c: x: y", "member e: w", "member d: x: y"}))
}
