package shelf

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever comes and goes, items are sorted by their keys, and those of a namespace lie together.
func TestContentIsSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var c content
	for range 500 {
		items := map[string]*Item{}
		for key, one := range c.items {
			if r.IntN(4) > 0 {
				items[key] = one
			}
		}
		for range r.IntN(6) {
			key := fmt.Sprintf("%s/%d", []string{"", "a", "a-b", "a0", "b"}[r.IntN(5)], r.IntN(20))
			items[key] = &Item{Key: key}
		}
		c.set(items)
		require.Len(t, c.sorted, len(items))
		count := map[string]int{}
		for i, one := range c.sorted {
			require.Same(t, items[one.Key], one)
			if i > 0 {
				require.Less(t, c.sorted[i-1].Key, one.Key)
			}
			namespace, _ := split(one.Key)
			count[namespace]++
		}
		for _, namespace := range []string{"a", "a-b", "a0", "b", "nobody"} {
			of := c.of(namespace)
			require.Len(t, of, count[namespace])
			for _, one := range of {
				is, _ := split(one.Key)
				require.Equal(t, namespace, is)
			}
		}
		require.Len(t, c.of(""), len(items))
	}
}
