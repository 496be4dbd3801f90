package hub

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// What is needed follows from the table of verbs and from the kind, and words of kubectl mean what they do here.
func TestWhatAVerbNeedsOfAKind(t *testing.T) {
	for line, want := range map[string]api.Role{
		"get placements":       api.RoleViewer,
		"list secrets":         api.RoleOperator,
		"watch Secret":         api.RoleOperator,
		"apply crp":            api.RoleOperator,
		"create member":        api.RoleAdmin,
		"delete member/berlin": api.RoleAdmin,
		"edit deploy/web":      api.RoleOperator,
		"describe members":     api.RoleViewer,
		"raw":                  api.RoleOperator,
		"admit":                api.RoleAdmin,
		"run-approve":          api.RoleOperator,
		"status":               api.RoleViewer,
	} {
		needed, err := neededFor(strings.Fields(line))
		require.NoError(t, err, line)
		require.Equal(t, want, needed, line)
	}
	for line, want := range map[string]string{
		"gte placements":   `unknown verb "gte", did you mean get?; flotilla auth can-i --list shows all`,
		"get plcements":    `unknown kind "plcements"`,
		"status members":   "status is about no type: flotilla auth can-i status",
		"run-start run/up": "run-start is about no type",
	} {
		_, err := neededFor(strings.Fields(line))
		require.ErrorContains(t, err, want, line)
	}
}
