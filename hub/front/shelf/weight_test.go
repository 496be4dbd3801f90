package shelf

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// wide are maps of so many keys.
func wide(keys int) (all []any) {
	for range 500 {
		one := map[string]any{}
		for i := range keys {
			one[fmt.Sprint(i)] = true
		}
		all = append(all, one)
	}
	return all
}

// What is weighed is about what memory is taken, of whatever shape an object is.
func TestObjectsWeighWhatTheyTake(t *testing.T) {
	keys, numbers, maps := map[string]string{}, []int{}, []map[string]string{}
	for i := range 20000 {
		keys[fmt.Sprintf("key-%d", i)] = "v"
		numbers = append(numbers, i)
		maps = append(maps, map[string]string{"a": "b"})
	}
	for name, value := range map[string]any{"empty maps": slices.Repeat([]any{map[string]any{}}, 50_000), "57 keys": wide(57), "one large value": strings.Repeat("x", 800<<10), "many keys": keys, "many numbers": numbers, "many maps": maps} {
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
		require.InEpsilon(t, measured, weigh(text), 0.5, "%s: %d", name, int64(measured))
		runtime.KeepAlive(all)
	}
}

// The labels of an item lie beside its text, and are weighed as what they take.
func TestLabelsWeighWhatTheyTake(t *testing.T) {
	labels := map[string]string{}
	for i := range 10_000 {
		labels[fmt.Sprint("l", i)] = "v"
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": labels}})
	require.NoError(t, err)
	var before, after runtime.MemStats
	all := make([]*Item, 8)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range all {
		_, all[i], err = configMap.itemOf(slices.Clone(text), "")
		require.NoError(t, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.InEpsilon(t, float64(after.HeapAlloc-before.HeapAlloc)/float64(len(all)), all[0].takes(), 0.5)
	require.Less(t, all[0].takes(), all[0].Whole().takes())
	runtime.KeepAlive(all)
}
