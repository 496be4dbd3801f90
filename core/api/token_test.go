package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestServersOverTLS(t *testing.T) {
	for told, want := range map[string]string{
		"": "", "nats://n1:4222": "tls://n1:4222", "tls://n1:4222": "tls://n1:4222", "NATS://n1": "tls://n1", "n1:4222": "tls://n1:4222",
		"nats://n1,n2:4222, nats://anna:x@n3": "tls://n1,tls://n2:4222,tls://anna:x@n3", "ws://n1,wss://n2": "wss://n1,wss://n2",
	} {
		require.Equal(t, want, api.OverTLS(told), told)
	}
}
