package subjects_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/subjects"
)

// Every family has a kind, and no two have the same.
func TestEveryFamilyHasAKindOfItsOwn(t *testing.T) {
	families := map[string]string{}
	for _, r := range subjects.Records() {
		kind := subjects.KindOf(r.Family.Key("web.1"))
		require.NotContains(t, families, kind)
		families[kind] = r.Family.Prefix()
		require.NotRegexp(t, "[.<>]|^$| of$", kind)
	}
	require.Equal(t, "spec.override.", families["override"])
	require.Equal(t, "schedule.", families["schedule of placement"])
	require.Equal(t, "session.", families["session"])
	require.Equal(t, "term", subjects.KindOf(subjects.TermKey))
}
