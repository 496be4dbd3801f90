package flaws

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

const (
	past  = "a leaf node or an agent gets messages to where its permissions do not let it"
	power = "a power cut may lose what was acknowledged, also with sync_interval: always"
)

func TestOf(t *testing.T) {
	breaks := func(version, what string) string {
		return "nats-server " + version + " breaks what Flotilla promises: " + what + "; run 2.14.6 or newer"
	}
	for version, want := range map[string]string{
		"2.10.29":     breaks("2.10.29", past+"; "+power),
		"2.11.15":     breaks("2.11.15", past+"; "+power),
		"2.11.16":     breaks("2.11.16", power),
		"2.12.0":      breaks("2.12.0", past+"; "+power),
		"2.12.6":      breaks("2.12.6", past+"; "+power),
		"2.12.12":     breaks("2.12.12", power),
		"2.13.9":      breaks("2.13.9", past+"; "+power),
		"2.14.0-RC.1": breaks("2.14.0-RC.1", past+"; "+power),
		"2.14.0":      breaks("2.14.0", power),
		"2.14.5":      breaks("2.14.5", power),
		"1.14.6":      breaks("1.14.6", past+"; "+power),
		"2.14.6":      "",
		"2.14.10":     "",
		"2.15.0":      "",
		"2.15.0-beta": "",
		"v2.15.2":     "",
		"3.0.0":       "",
		"":            `found version "", expected one such as 2.14.6: whether it keeps what Flotilla promises is not known`,
		"2.15":        `found version "2.15", expected one such as 2.14.6: whether it keeps what Flotilla promises is not known`,
		"main\x1b[2J": `found version "main\x1b[2J", expected one such as 2.14.6: whether it keeps what Flotilla promises is not known`,
	} {
		require.Equal(t, want, Of(version), version)
	}
}

// The server in this build breaks nothing.
func TestTheServerOfThisBuild(t *testing.T) {
	require.Empty(t, Of(server.VERSION))
}
