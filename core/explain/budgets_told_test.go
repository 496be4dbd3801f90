package explain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// What budgets leave is told by reason, reasons that are alike in one line.
func TestBudgetsOfAForecastAreTold(t *testing.T) {
	counts := func(n ...int32) map[string]map[string]capacity.Count {
		out := map[string]map[string]capacity.Count{}
		for i, reason := range api.DisruptionReasons {
			out[reason] = map[string]capacity.Count{"a": capacity.Count(n[i%len(n)])}
		}
		return out
	}
	told := func(before, after map[string]map[string]capacity.Count) string {
		var b strings.Builder
		(&Forecast{Before: before, After: after}).writeBudgets(&b, "a")
		return b.String()
	}
	r := api.DisruptionReasons
	require.Len(t, r, 4)
	require.Equal(t, "  a (any reason): 3 -> 2\n", told(counts(3), counts(2)))
	require.Equal(t, "  a ("+r[0]+", "+r[2]+"): 3 -> 2\n  a ("+r[1]+", "+r[3]+"): 3 -> 1\n", told(counts(3), counts(2, 1)))
}
