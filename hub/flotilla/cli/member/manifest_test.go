package member

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTolerationsAreWrittenAsKubectlDoes(t *testing.T) {
	for text, want := range map[string]toleration{
		"dedicated=fleet:NoSchedule":                      {"dedicated", "Equal", "fleet", "NoSchedule"},
		"node-role.kubernetes.io/control-plane:NoExecute": {"node-role.kubernetes.io/control-plane", "Exists", "", "NoExecute"},
		"gpu":                    {"gpu", "Exists", "", ""},
		"gpu=":                   {"gpu", "Equal", "", ""},
		"gpu=a:PreferNoSchedule": {"gpu", "Equal", "a", "PreferNoSchedule"},
	} {
		got, err := parseToleration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", ":NoSchedule", "gpu:", "gpu:noschedule", "a b", "gpu=a b", "gpu=a:NoSchedule:x"} {
		_, err := parseToleration(text)
		require.ErrorContains(t, err, "expected KEY[=VALUE][:EFFECT]", text)
	}
}

// A file that is deleted takes nothing of others with it.
func TestOnlyTheOwnNamespaceIsMade(t *testing.T) {
	for namespace, made := range map[string]bool{"flotilla-system": true, "production": false} {
		o := manifestOptions{namespace: namespace}
		values, err := o.values()
		require.NoError(t, err)
		require.Equal(t, made, values["createNamespace"])
	}
}

func TestWhetherAnAddressLeadsElsewhere(t *testing.T) {
	for servers, want := range map[string]bool{
		"nats://127.0.0.1:4222": true, "nats://localhost:4222": true, "tls://[::1]:4222": true, "nats://0.0.0.0:4222": true,
		"nats://127.0.0.1:4222,nats://10.0.0.1:4222": false, "nats://hub.example.com:4222, tls://n2:4222": false, "wss://hub": false,
	} {
		got, err := loopback(servers)
		require.NoError(t, err, servers)
		require.Equal(t, want, got, servers)
	}
	for _, servers := range []string{"", "hub:4222", "http://hub:4222", "nats://", "nats://a:4222,", "nats://a b"} {
		_, err := loopback(servers)
		require.ErrorContains(t, err, "expected the URL of a NATS server", servers)
	}
}
