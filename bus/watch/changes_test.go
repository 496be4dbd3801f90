package watch_test

import (
	"testing"

	"flotilla/bus/watch"

	"github.com/stretchr/testify/require"
)

func TestChangesAreTakenOnce(t *testing.T) {
	var changes watch.Changes
	take := func(key string) (bool, []string) {
		whole, members := changes.Take(key)
		var names []string
		for _, name := range []string{"berlin", "oslo"} {
			if _, is := members[name]; is {
				names = append(names, name)
			}
		}
		require.Len(t, members, len(names))
		return whole, names
	}
	changes.Of("web", "oslo")
	changes.Of("web", "berlin")
	changes.Of("web", "oslo")
	changes.Of("api", "berlin")
	whole, members := take("web")
	require.False(t, whole)
	require.Equal(t, []string{"berlin", "oslo"}, members)
	whole, members = take("web")
	require.False(t, whole)
	require.Empty(t, members)

	changes.Whole("api")
	changes.Of("api", "oslo")
	whole, members = take("api")
	require.True(t, whole, "all of it")
	require.Empty(t, members)
}

func TestWhatIsKeptIsOfOneKey(t *testing.T) {
	var kept watch.Kept[int]
	*kept.Of("web") = 1
	*kept.Of("api") = 2
	require.Equal(t, 1, *kept.Of("web"))
	kept.Forget("web")
	require.Zero(t, *kept.Of("web"))
	require.Equal(t, 2, *kept.Of("api"))
}
