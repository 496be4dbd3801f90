package capacity

import (
	"encoding/json"
	"testing"
	"time"

	"flotilla/core/api"
	"flotilla/tests/limits"
)

// FuzzBudgets reads budgets as pools have them, and asks them what the disruptor and the calendar ask.
func FuzzBudgets(f *testing.F) {
	f.Add([]byte(`[{"nodes":"10%"},{"nodes":"0","schedule":"@daily","duration":"10m","reasons":["Drifted"]}]`))
	f.Add([]byte(`[{"nodes":"5","schedule":"TZ=Europe/Berlin 30 2 29 2 *","duration":"4h"}]`))
	f.Add([]byte(`[{"nodes":"1","schedule":"* * * * *","duration":"1ns"},{"nodes":"-1%","schedule":"TZ=","duration":"2562047h"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		limits.Hold(t, 8*len(text), func() {
			var specs []api.DisruptionBudget
			if json.Unmarshal(text, &specs) != nil || len(specs) > 50 {
				return // a pool has 50 budgets at most
			}
			now := time.Date(2028, 2, 29, 23, 59, 30, 0, time.UTC)
			b := ParseBudgets(specs, time.LoadLocation)
			b.Limit(now, 1000, "Drifted", Rules{})
			b.NextChange(now)
		})
	})
}
