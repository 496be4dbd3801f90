package records

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
)

func TestALongHistoryHoldsSoManyObjects(t *testing.T) {
	tables := New(bustest.Start(t).Lead(t).State)
	for name, c := range map[string]struct {
		snapshots, objects, limit, needed int
		stay                              int
	}{
		"as many as are asked for":       {999, 100, 1000, 0, 999},
		"no more than that":              {999, 100, 50, 0, 49},
		"fewer where each holds much":    {999, 10_000, 1000, 0, 10},
		"none less than by default":      {20, 30_000, 1000, 0, 9},
		"the default, whatever it holds": {9, 30_000, 10, 0, 9},
		"one that members run stays":     {20, 30_000, 1000, 3, 10},
		"empty ones":                     {999, 0, 1000, 0, 999},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := make([]api.Manifest, c.objects)
			var kept []store.Entry[api.Snapshot]
			for i := range c.snapshots {
				kept = append(kept, store.Entry[api.Snapshot]{Name: fmt.Sprint("web/", i+1), Value: api.Snapshot{Index: int64(i + 1), Manifests: manifests}})
			}
			p := &api.Placement{Spec: api.PlacementSpec{RevisionHistoryLimit: new(int32(c.limit))}}
			p.Name = "web"
			surplus := tables.Surplus(p, kept, map[int64]bool{int64(c.needed): true})
			require.Len(t, kept, c.stay+len(surplus))
			for i, old := range surplus[:max(0, min(len(surplus), c.needed-1))] {
				require.EqualValues(t, i+1, old.Value.Index, "the oldest go")
			}
		})
	}
}
