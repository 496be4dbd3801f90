package member

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAgentsAreSentWhereTheOperatorReachedTheServer(t *testing.T) {
	for told, want := range map[string]string{
		"":                      "nats://hub.example:4222",
		"nats://0.0.0.0:4222":   "nats://hub.example:4222",
		"nats://127.0.0.1:4222": "nats://hub.example:4222",
		"nats://10.1.2.3:4222":  "nats://10.1.2.3:4222",
		"nats://broker:4222":    "nats://broker:4222",
		"nats://localhost:4222": "nats://hub.example:4222",
		"nats://127.0.0.1:4222,nats://broker:4222": "nats://127.0.0.1:4222,nats://broker:4222",
	} {
		require.Equal(t, want, agentURL(told, "nats://hub.example:4222"), told)
	}
	require.Equal(t, "nats://127.0.0.1:4222", agentURL("nats://127.0.0.1:4222", ""))
	require.Equal(t, "tls://hub.example:4222", agentURL("tls://127.0.0.1:4222", "nats://hub.example:4222"), "the hub speaks TLS")
}
