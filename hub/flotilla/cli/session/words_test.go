package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestNearestFindsWhatWasMeant(t *testing.T) {
	candidates := []string{"apply", "label", "placement", "placements", "plan"}
	require.Equal(t, []string{"apply"}, Nearest("aply", candidates))
	require.Equal(t, []string{"apply"}, Nearest("appyl", candidates), "a swap is one mistake")
	require.Equal(t, []string{"placements", "placement"}, Nearest("placemnts", candidates))
	require.Equal(t, []string{"plan", "placement", "placements"}, Nearest("plac", candidates))
	require.Empty(t, Nearest("zzz", candidates))
}

func TestExitCodesOfFailures(t *testing.T) {
	for code, want := range map[string]int{
		api.CodeInvalid: ExitRefused, api.CodeRefused: ExitRefused, api.CodeConflict: ExitRefused, api.CodeTooLarge: ExitRefused,
		api.CodeNotFound: ExitDifferent, api.CodeUnavailable: ExitUnreachable, api.CodeInternal: ExitPartial,
	} {
		require.Equal(t, want, FailureOf(&api.Failure{Code: code}).Code, code)
	}
}
