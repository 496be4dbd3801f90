package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate/simulatetest"
)

// The hash that Karpenter wrote on a node counts against the one that it wrote on the pool, when both are of
// one version; Flotilla's own counts against the template.
func TestKarpentersHash(t *testing.T) {
	karpenters := simulatetest.Pool("a")
	karpenters.Annotations = map[string]string{api.AnnotationPoolHash: "1", api.AnnotationPoolHashLevel: "v3"}
	for name, row := range map[string]struct {
		pool        *api.NodePool
		hash, level string
		want        string
	}{
		"the same":                    {karpenters, "1", "v3", ""},
		"another":                     {karpenters, "2", "v3", DriftPool},
		"another, of another version": {karpenters, "2", "v2", ""},
		"without a version":           {karpenters, "2", "", ""},
		"no hash":                     {karpenters, "", "v3", ""},
		"a pool that it left alone":   {simulatetest.Pool("a"), "2", "v3", ""},
		"Flotilla's, the same":        {karpenters, capacity.PoolHash(karpenters), capacity.PoolHashLevel, ""},
		"Flotilla's, another":         {karpenters, "2", capacity.PoolHashLevel, DriftPool},
	} {
		t.Run(name, func(t *testing.T) {
			n := simulatetest.Node("n1", "d2", "z-a", "a")
			n.Annotations = map[string]string{api.AnnotationPoolHash: row.hash, api.AnnotationPoolHashLevel: row.level}
			require.Equal(t, row.want, Drifted(n, capacity.NewPool(row.pool, capacity.NewCatalog(simulatetest.Catalog()), capacity.PoolOptions{}), simulatetest.Now, capacity.Rules{}))
		})
	}
}
