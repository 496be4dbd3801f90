package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"flotilla/core/strict"

	"github.com/stretchr/testify/require"
)

// TestManyFaultsAreCounted prints more faults than people are shown.
func TestManyFaultsAreCounted(t *testing.T) {
	f := &Failure{Message: "refused: 43 faults", All: "flotilla apply --dry-run=client -f a.yaml"}
	for i := range 43 {
		fault := strict.Fault{Path: fmt.Sprintf("spec.x%d", i), Found: "an unknown field", Expected: "another", Kind: strict.FaultUnknown}
		if i >= 40 {
			fault.Found, fault.Kind = "nothing", ""
		}
		f.Faults = append(f.Faults, fault)
	}
	var text, body strings.Builder
	f.print(&text)
	require.Equal(t, 20, strings.Count(text.String(), "    found     an unknown field\n"))
	require.Contains(t, text.String(), "  and 23 more; in all 40 unknown fields, 3 missing fields\n  every one: flotilla apply --dry-run=client -f a.yaml -o json\n")
	require.NoError(t, f.printJSON(&body))
	var back Refusal
	require.NoError(t, json.Unmarshal([]byte(body.String()), &back))
	require.Len(t, back.Faults, 43)
	require.Equal(t, map[strict.FaultKind]int{strict.FaultUnknown: 40, strict.FaultMissing: 3}, back.Counts)
}
