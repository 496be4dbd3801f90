package overview

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMembersAreGathered(t *testing.T) {
	for by, want := range map[string]string{
		"region":     "oslo paris berlin web-1",
		"tier":       "oslo berlin web-1 paris",
		"label:tier": "oslo berlin web-1 paris",
		"zone":       "paris web-1 oslo berlin",
		"unheard-of": "web-1 paris oslo berlin",
	} {
		members := Filter(four(), Query{})
		require.Nil(t, Sort(members, "name", true))
		Gather(members, by)
		require.Equal(t, want, names(members), by)
	}
	berlin := four()[0]
	require.Equal(t, "prod", berlin.In("tier"))
}

func TestQuantitiesAreShownRoundedDown(t *testing.T) {
	for text, want := range map[string][2]string{
		"44650m": {"44.6", "0Gi"}, "78336Mi": {"82141249536", "76.5Gi"}, "2": {"2", "0Gi"}, "lots": {"lots", "lots"}, "": {"", ""},
	} {
		require.Equal(t, want, [2]string{Cores(text), Gibibytes(text)}, text)
	}
}
