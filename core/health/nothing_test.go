package health

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A placement selects nothing where its snapshot was cut, could be, and holds nothing although something is to be selected.
func TestWhatSelectsNothing(t *testing.T) {
	some := &api.Placement{Spec: api.PlacementSpec{ResourceSelectors: []api.ResourceSelector{{Kind: "Namespace"}}}}
	for name, c := range map[string]struct {
		placement *api.Placement
		latest    *api.Snapshot
		want      bool
	}{
		"no snapshot yet":           {some, nil, false},
		"an empty snapshot":         {some, &api.Snapshot{}, true},
		"selectors with a fault":    {some, &api.Snapshot{Error: "no such kind"}, false},
		"something":                 {some, &api.Snapshot{Manifests: []api.Manifest{{}}}, false},
		"nothing is to be selected": {&api.Placement{}, &api.Snapshot{}, false},
	} {
		require.Equal(t, c.want, selectsNothing(c.placement, c.latest), name)
	}
}
