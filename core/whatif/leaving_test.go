package whatif_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/whatif"
)

// Of names that are no members the first are told one by one, with what was meant, and the others by how many they are.
func TestManyNamesOfNoMemberAreToldBriefly(t *testing.T) {
	members := []api.Member{{}, {}}
	members[0].Name, members[1].Name = "oslo", "bergen"
	for _, c := range []struct {
		names, lines int
		last         string
	}{
		{1, 1, "--without: oslo0: found no member of the fleet, expected a member of the fleet; did you mean oslo?"},
		{20, 20, "--without: oslo19: found no member of the fleet, expected one of bergen, oslo"},
		{21, 21, "--without: found 1 more name of no member of the fleet, expected members of the fleet alone"},
		{50_000, 21, "--without: found 49980 more names of no member of the fleet, expected members of the fleet alone"},
	} {
		var q whatif.Question
		for i := range c.names {
			q.Without = append(q.Without, fmt.Sprint("oslo", i), "bergen")
		}
		_, err := q.Leaving(members, func(string) string { return api.WhenLeavingRetain })
		require.Error(t, err)
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, c.lines)
		require.Equal(t, c.last, lines[len(lines)-1])
	}
}
