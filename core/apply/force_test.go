package apply

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestForced(t *testing.T) {
	for _, row := range []struct {
		name     string
		strategy *api.ApplyStrategy
		forced   bool
	}{
		{"nothing is said", nil, true},
		{"ClientSideApply knows no owners", &api.ApplyStrategy{Type: api.ApplyClientSide}, true},
		{"ServerSideApply respects them", &api.ApplyStrategy{Type: api.ApplyServerSide}, false},
		{"also when it is configured", &api.ApplyStrategy{Type: api.ApplyServerSide, ServerSideApplyConfig: &api.ServerSideApplyConfig{}}, false},
		{"unless it is told", &api.ApplyStrategy{Type: api.ApplyServerSide, ServerSideApplyConfig: &api.ServerSideApplyConfig{Force: true}}, true},
	} {
		require.Equal(t, row.forced, Forced(row.strategy), row.name)
	}
}
