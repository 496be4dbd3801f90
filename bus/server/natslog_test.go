package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A line is caused by whose connection it is about, as the server says that, or by the address while that is not known; never by what is said
// later in it, or by what a client says of itself.
func TestWhoCausesALineOfAServer(t *testing.T) {
	for line, who := range map[string]string{
		`127.0.0.1:53422 - cid:65 - "v1.55.0:go" - "ACCOUNT/mallory" - Publish Violation - Subject "a"`: `"ACCOUNT/mallory"`,
		`127.0.0.1:53422 - cid:66 - "v1:a\" - \"ACCOUNT/oslo" - "ACCOUNT/mallory" - Publish Violation`:  `"ACCOUNT/mallory"`,
		`[::1]:53422 - wid:65 - "v1.55.0:go" - "ACCOUNT/anna" - Publish Violation`:                      `"ACCOUNT/anna"`,
		`10.1.2.3:53422 - cid:65 - authentication error`:                                                "10.1.2.3",
		`10.1.2.3:53422 - cid:65 - "v1.55.0:go" - authentication error`:                                 "10.1.2.3",
		`10.1.2.3:7422 - lid:65 - Leafnode Publish Violation - Subject "1.1.1.1:1 - cid:2"`:             "10.1.2.3",
		`10.1.2.3:7422 - lid_ws:65 - Leafnode Error`:                                                    "10.1.2.3",
		`JetStream resource limits exceeded for server`:                                                 "",
		`10.1.2.3:6222 - rid:4 - Router connection closed: a route is no user`:                          "",
		`a stream - "1.1.1.1:1 - cid:2" is slow`:                                                        "",
	} {
		require.Equal(t, who, causer(line), line)
	}
}
