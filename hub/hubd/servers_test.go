package hubd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/server"
)

// A server that breaks a promise is told of once, and once more when it runs another version or is away.
func TestAVersionIsToldOnce(t *testing.T) {
	var text bytes.Buffer
	log, s, now := zerolog.New(&text), &servers{}, time.Unix(0, 0)
	for range 3 {
		s.note(now, []server.Met{{Name: "n1", Version: "2.15.2"}, {Name: "n3", Version: "2.10.0"}, {Name: "n2", Version: "2.12.7"}}, log)
		now = now.Add(time.Second)
	}
	require.Equal(t, 2, strings.Count(text.String(), "\n"), text.String())
	found := s.problems()
	require.Len(t, found, 2)
	require.Equal(t, "server/n2", found[0].Object)
	require.Equal(t, time.Unix(0, 0), found[0].Since.Time)
	require.NoError(t, s.strictly(false))
	require.ErrorContains(t, s.strictly(true), "--strict-servers: server/n2: nats-server 2.12.7 breaks what Flotilla promises: ")
	require.ErrorContains(t, s.strictly(true), "; server/n3: nats-server 2.10.0 ")

	text.Reset()
	s.note(now, []server.Met{{Name: "n2", Version: "2.12.8"}, {Name: "n3", Version: "2.15.2"}}, log)
	require.Equal(t, 2, strings.Count(text.String(), "\n"), "n2 is told of anew, and n3 is well: %s", &text)
	require.Equal(t, now, s.problems()[0].Since.Time)
	s.note(now, nil, log)
	require.Empty(t, s.problems())
	require.NoError(t, s.strictly(true))
}
