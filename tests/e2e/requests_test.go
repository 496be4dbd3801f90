//go:build e2e

package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/e2e/lab"
)

// fleetUser is who the agents of fleets are to API servers, but for those of pods.
const fleetUser = "flotilla-agent"

// count is how many requests an API server had answered at some time.
type count struct {
	cluster *lab.Cluster
	since   int
}

// counts are those of all clusters, now.
func counts(t testing.TB) map[string]count {
	t.Helper()
	now := map[string]count{}
	for _, member := range members {
		c := clusterOf(t, member)
		now[member] = count{c, len(requests(t, c))}
	}
	return now
}

func requests(t testing.TB, c *lab.Cluster) []lab.Request {
	t.Helper()
	all, err := c.Requests()
	require.NoError(t, err)
	return all
}

// of are the requests of a user since then.
func (n count) of(t testing.TB, user string) []lab.Request {
	t.Helper()
	return slices.DeleteFunc(requests(t, n.cluster)[n.since:], func(r lab.Request) bool { return r.User != user })
}

// requireAtMost counts what agents of fleets have asked since then: writes, and reads of what is there or would be, watches and
// what heartbeats ask left out.
func (n count) requireAtMost(t testing.TB, writes, reads int) {
	t.Helper()
	var written, read []lab.Request
	for _, r := range n.of(t, fleetUser) {
		switch {
		case r.Verb == "get" && r.Resource == "": // what is ready, and which kinds are served
		case r.Verb == "get" || r.Verb == "list" || r.DryRun:
			read = append(read, r)
		case r.Verb != "watch":
			written = append(written, r)
		}
	}
	require.LessOrEqual(t, len(written), writes, "%v", written)
	require.LessOrEqual(t, len(read), reads, "%v", read)
}
