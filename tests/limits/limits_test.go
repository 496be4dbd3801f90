package limits

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a test that fails without ending the one it stands in.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, _ ...any) { r.said = format }

var sink []byte

func TestHoldTellsWhatCostsTooMuch(t *testing.T) {
	cheap, greedy, slow := &recorder{TB: t}, &recorder{TB: t}, &recorder{TB: t}
	Hold(cheap, 10, func() { sink = make([]byte, 1<<20) })
	require.Empty(t, cheap.said)
	Hold(greedy, 10, func() { sink = make([]byte, taken+1<<20) })
	require.NotEmpty(t, greedy.said)
	began := processor()
	hold(slow, 10, 1, func() {
		for end := processor() + 2*spent; processor() < end; {
			sink = append(sink[:0], 1)
		}
	})
	require.NotEmpty(t, slow.said)
	require.Greater(t, processor()-began, tries*spent)
}
