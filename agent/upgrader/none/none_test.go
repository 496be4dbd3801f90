package none_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/upgrader"
	"flotilla/agent/upgrader/none"
	"flotilla/core/api"
)

// An operation is refused with nothing changed, and what to set; one that an earlier process began is not known.
func TestOperationsAreRefused(t *testing.T) {
	var driver upgrader.Driver = none.Driver{}
	result, known, err := driver.Run(t.Context(), api.UpgradeOperation{}, nil)
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, api.OutcomeBlocked, result.Outcome)
	require.Contains(t, result.Message, "upgrade.driver")
	_, known, err = driver.Resume(t.Context(), api.UpgradeOperation{}, nil)
	require.NoError(t, err)
	require.False(t, known)
}
