package shelf

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// What is weighed is about what memory is taken, of whatever shape an object is.
func TestObjectsWeighWhatTheyTake(t *testing.T) {
	keys, numbers, maps := map[string]string{}, []int{}, []map[string]string{}
	for i := range 20000 {
		keys[fmt.Sprintf("key-%d", i)] = "v"
		numbers = append(numbers, i)
		maps = append(maps, map[string]string{"a": "b"})
	}
	for name, value := range map[string]any{"one large value": strings.Repeat("x", 800<<10), "many keys": keys, "many numbers": numbers, "many maps": maps} {
		text, err := json.Marshal(map[string]any{"data": value})
		require.NoError(t, err)
		var before, after runtime.MemStats
		all := make([]map[string]any, 8)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range all {
			require.NoError(t, kjson.Unmarshal(text, &all[i]))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		measured := float64(after.HeapAlloc-before.HeapAlloc) / float64(len(all))
		require.InEpsilon(t, measured, weigh(all[0]), 0.5, name)
		runtime.KeepAlive(all)
	}
}
