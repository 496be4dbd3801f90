package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/agentd"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/configs"
)

// inPod makes the process one in a pod whose API server serves one Secret, or says that there is none, and returns a
// configuration that says so.
func inPod(t *testing.T, secret map[string][]byte) string {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if secret == nil || r.URL.Path != "/api/v1/namespaces/flotilla-system/secrets/flotilla-agent" {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound})
			return
		}
		_ = json.NewEncoder(w).Encode(corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: secret})
	}))
	t.Cleanup(server.Close)
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)
	folder := t.TempDir()
	for name, text := range map[string][]byte{
		"token": []byte("t"), "namespace": []byte("flotilla-system"),
		"ca.crt":     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		"agent.yaml": fmt.Appendf(nil, "pod: {serviceAccount: %s}\n", folder),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	return filepath.Join(folder, "agent.yaml")
}

func loaded(t *testing.T, args ...string) (agentd.Options, error) {
	t.Helper()
	var f flags
	parsed := f.command()
	require.NoError(t, parsed.ParseFlags(args))
	return f.load(parsed)
}

// In a pod the member is its cluster, unless something is said of one in memory.
func TestInAPodTheMemberIsItsCluster(t *testing.T) {
	file := inPod(t, nil)
	for want, args := range map[string][]string{configs.TargetKubernetes: nil, configs.TargetMemory: {"--fault", "down"}} {
		o, err := loaded(t, append(args, "--config", file, "--member", "berlin")...)
		require.NoError(t, err)
		require.Equal(t, "flotilla-system", o.Pod.Namespace)
		require.Equal(t, want, o.Config.Target.TypeIn(o.Pod != nil))
	}
}

// The agent of a pod whose volumes are gone finds in its Secret whose agent it is.
func TestInAPodTheSecretNamesTheMember(t *testing.T) {
	dir, gone := t.TempDir(), "@"+filepath.Join(t.TempDir(), "token")
	_, err := member.OpenWallet(member.Folder(dir), bustest.Token(t, "berlin"))
	require.NoError(t, err)
	identity, err := os.ReadFile(filepath.Join(dir, "identity.enrolling.json"))
	require.NoError(t, err)
	o, err := loaded(t, "--config", inPod(t, map[string][]byte{"identity.json": identity}), "--token", gone)
	require.NoError(t, err)
	require.Nil(t, o.Token)
	require.Equal(t, "berlin", o.Config.Member)
	require.Equal(t, filepath.Join("flotilla-agent", "berlin"), o.Config.DataDir)

	_, err = loaded(t, "--config", inPod(t, nil), "--token", gone)
	require.ErrorContains(t, err, "no such file or directory, and Secret flotilla-system/flotilla-agent is that of none; the agent of")
	o, err = loaded(t, "--config", inPod(t, nil))
	require.NoError(t, err)
	require.Empty(t, o.Config.Member)
}
