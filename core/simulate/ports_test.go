package simulate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A host port is taken where one of the same number and protocol is, of the same address or of all.
func TestHostPortsClash(t *testing.T) {
	for name, c := range map[string]struct {
		used, wanted api.HostPort
		want         bool
	}{
		"the same":            {api.HostPort{Port: 80}, api.HostPort{Port: 80}, true},
		"another number":      {api.HostPort{Port: 80}, api.HostPort{Port: 81}, false},
		"another protocol":    {api.HostPort{Port: 80}, api.HostPort{Port: 80, Protocol: "UDP"}, false},
		"a protocol unsaid":   {api.HostPort{Port: 80}, api.HostPort{Port: 80, Protocol: "TCP"}, true},
		"one address":         {api.HostPort{Port: 80, IP: "10.0.0.1"}, api.HostPort{Port: 80, IP: "10.0.0.1"}, true},
		"another address":     {api.HostPort{Port: 80, IP: "10.0.0.1"}, api.HostPort{Port: 80, IP: "10.0.0.2"}, false},
		"all have one":        {api.HostPort{Port: 80}, api.HostPort{Port: 80, IP: "10.0.0.1"}, true},
		"one of all":          {api.HostPort{Port: 80, IP: "10.0.0.1"}, api.HostPort{Port: 80, IP: "0.0.0.0"}, true},
		"one of all of IPv6":  {api.HostPort{Port: 80, IP: "10.0.0.1"}, api.HostPort{Port: 80, IP: "::"}, true},
		"all, as they may be": {api.HostPort{Port: 80, IP: "::"}, api.HostPort{Port: 80, IP: "0.0.0.0"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			used, wanted := []api.HostPort{c.used}, []api.HostPort{{Port: 1}, c.wanted}
			h := hostPorts(nil).with([]api.HostPort{{Port: 2}}).with(used)
			require.Equal(t, c.want, h.clash(wanted))
			other := h.clone().with(used)
			other.free(used)
			require.Equal(t, c.want, other.clash(wanted), "it is taken once more")
			other.free(used)
			require.False(t, other.clash(wanted), "nobody has it any more")
			require.Equal(t, c.want, h.clash(wanted), "that of the other one is its own")
		})
	}
}
