package memory

import (
	"errors"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func TestWhatAProcessKeepsTo(t *testing.T) {
	none := func() (uint64, error) { return 0, errors.New("no limit") }
	of := func(bytes uint64) func() (uint64, error) { return func() (uint64, error) { return bytes, nil } }
	for name, c := range map[string]struct {
		wanted      string
		environment bool
		cgroup      func() (uint64, error)
		limit       int64
		from        string
	}{
		"nothing said, no cgroup":              {cgroup: none},
		"nine tenths of the cgroup":            {cgroup: of(1000), limit: 900, from: "the cgroup of the process"},
		"a cgroup that allows all there is":    {cgroup: of(math.MaxInt64)},
		"a cgroup of nothing":                  {cgroup: of(0)},
		"what is wanted wins over the cgroup":  {wanted: "1Ki", cgroup: of(1000), limit: 1024, from: "memoryLimit"},
		"and over the environment":             {wanted: "1Ki", environment: true, cgroup: none, limit: 1024, from: "memoryLimit"},
		"the environment wins over the cgroup": {environment: true, cgroup: of(1000)},
		"none at all":                          {wanted: "0", cgroup: of(1000)},
	} {
		t.Run(name, func(t *testing.T) {
			limit, from := choose(c.wanted, c.environment, c.cgroup)
			require.Equal(t, c.limit, limit)
			require.Equal(t, c.from, from)
		})
	}
}

func TestTheProcessKeepsToIt(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	var said strings.Builder
	Keep("3Gi", zerolog.New(&said))
	require.EqualValues(t, 3<<30, debug.SetMemoryLimit(-1))
	require.Contains(t, said.String(), `"limit":"3.0 GiB","from":"memoryLimit"`)
	said.Reset()
	Keep("0", zerolog.New(&said))
	require.EqualValues(t, 3<<30, debug.SetMemoryLimit(-1), "it is left as it is")
	require.Empty(t, said.String())
}
