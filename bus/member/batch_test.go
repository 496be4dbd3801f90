package member

import (
	"encoding/json"
	"fmt"
	"testing"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// batchOf is a batch of n results.
func batchOf(t testing.TB, n int) *api.ResultBatch {
	batch := &api.ResultBatch{Header: api.NewHeader(api.KindResultBatch), Member: "berlin"}
	for i := range n {
		result, err := json.Marshal(api.PlacementResult{
			Header: api.NewHeader(api.KindPlacementResult), Member: "berlin", Placement: fmt.Sprintf("web-%d", i), UID: "u", Applied: "True",
			AppliedReason: "AllWorkHaveBeenApplied", AppliedMessage: "all 3 objects are <applied> & \"well\" \u2028", Available: "True", Total: 3,
		})
		require.NoError(t, err)
		batch.Results = append(batch.Results, api.BatchedResult{Kind: subjects.CommandPlacement, Name: fmt.Sprintf("web-%d <&> \"ü\" \x01", i), Result: result})
	}
	return batch
}

// A batch is what json.Marshal makes of it, to the letter: who compares it with what an earlier build stored finds it the same.
func TestABatchIsItsJSON(t *testing.T) {
	for n := range 4 {
		batch := batchOf(t, n)
		batch.Results = append(batch.Results, api.BatchedResult{Kind: "\"", Name: "nothing"})
		want, err := json.Marshal(batch)
		require.NoError(t, err)
		text, err := encodeBatch(batch)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text), "%d results", n)
	}
}

// BenchmarkBatch is to encode a slot of a member that has a hundred placements.
func BenchmarkBatch(b *testing.B) {
	batch := batchOf(b, 100/subjects.ResultSlots)
	b.ReportAllocs()
	for b.Loop() {
		_, err := packBatch(batch, 1<<20)
		require.NoError(b, err)
	}
}
