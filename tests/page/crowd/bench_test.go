package crowd

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkFleet is what VerbFleet costs over the door, with the fleet in the same process: who asks, the server and the hub.
// The bytes are those of the answer as JSON.
func BenchmarkFleet(b *testing.B) {
	f := Start(b, Options{Members: 10000, Placements: 1000, Seed: 1})
	asPlanned(b, f)
	text, err := json.Marshal(rows(b, f))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		rows(b, f)
	}
	b.ReportMetric(float64(len(text)), "answer-bytes")
}
