package member

import (
	"testing"

	"flotilla/core/api"

	"github.com/stretchr/testify/require"
)

func TestTaints(t *testing.T) {
	change := func(args ...string) []taintChange {
		var all []taintChange
		for _, arg := range args {
			c, err := parseTaint(arg)
			require.NoError(t, err, arg)
			all = append(all, c)
		}
		return all
	}
	now := []api.Taint{{Key: "a", Value: "1", Effect: "NoSchedule"}, {Key: "b", Effect: "NoSchedule"}}
	require.Equal(t, []api.Taint{{Key: "a", Value: "2", Effect: "NoSchedule"}, {Key: "c", Effect: "NoSchedule"}},
		applyTaints(now, change("a=2:NoSchedule", "b-", "c:NoSchedule")))
	require.Equal(t, now, applyTaints(now, change("z-")))
	require.Equal(t, now[1:], applyTaints(now, change("a=1:NoSchedule-")))
	require.Equal(t, "1", now[0].Value, "the input is not changed")
}
