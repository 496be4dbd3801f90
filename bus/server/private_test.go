package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/server"
)

// exposed opens a file for everybody, and is what whoever reads it then says.
func exposed(t *testing.T, path string) (refusal string) {
	t.Helper()
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	require.NoError(t, os.Chmod(path, 0o644))
	return fmt.Sprintf("%s may be read by others, its mode is 0644, expected 0600: chmod 600 %s", path, path)
}

func TestKeysOfADataDirectoryThatOthersMayReadAreRefused(t *testing.T) {
	running := bustest.Start(t, func(o *server.Options) { o.TLS.SelfSigned = true })
	running.Stop(t)
	for _, file := range []string{"keys.json", "hub.creds", "tls/ca-key.pem", "tls/key.pem"} {
		path := filepath.Join(running.Dir(), file)
		want := exposed(t, path)
		o := server.Options{Dir: running.Dir(), Port: -1, Fleet: bustest.Fleet, TLS: server.TLS{SelfSigned: true}, Log: zerolog.Nop()}
		_, err := server.Start(o)
		require.ErrorContains(t, err, want, file)
		require.NoError(t, os.Chmod(path, 0o600))
		again, err := server.Start(o)
		require.NoError(t, err, file)
		again.Shutdown()
	}
}

func TestAKeyOfACertificateThatOthersMayReadIsRefused(t *testing.T) {
	made := bustest.Start(t, func(o *server.Options) { o.TLS.SelfSigned = true })
	cert, key := filepath.Join(made.Dir(), "tls", "cert.pem"), filepath.Join(made.Dir(), "tls", "key.pem")
	require.NoError(t, os.Chmod(cert, 0o644), "a certificate is no secret")
	link := filepath.Join(t.TempDir(), "privkey.pem")
	require.NoError(t, os.Symlink(key, link))
	o := server.Options{Dir: t.TempDir(), Port: -1, TLS: server.TLS{Cert: cert, Key: link}, Log: zerolog.Nop()}
	again, err := server.Start(o)
	require.NoError(t, err)
	again.Shutdown()
	exposed(t, key)
	_, err = server.Start(o)
	require.ErrorContains(t, err, link+" may be read by others")
	_, err = server.ReadTLS(cert, key, "the page", zerolog.Nop())
	require.ErrorContains(t, err, "certificate of the page")
	require.ErrorContains(t, err, "chmod 600 "+key)
}

func TestAccountsThatOthersMayReadAreRefused(t *testing.T) {
	dir, _ := accounts(t)
	keys := filepath.Join(dir, "keys.json")
	want := exposed(t, keys)
	_, err := server.OpenAccounts(dir, bus.Options{Fleet: "shop"})
	require.ErrorContains(t, err, want)
	leaf := server.Leaf{Name: "edge", URLs: []string{"nats://n1:7422"}, Members: []string{"oslo"}}
	_, err = server.MakeLeaf(dir, filepath.Join(t.TempDir(), "edge"), leaf)
	require.ErrorContains(t, err, want)
	require.NoError(t, os.Chmod(keys, 0o600))
	offline := filepath.Join(dir, "offline", "AGENTS.nk")
	want = exposed(t, offline)
	_, err = server.MakeLeaf(dir, filepath.Join(t.TempDir(), "edge"), leaf)
	require.ErrorContains(t, err, want)
}

// Hubs and agents refuse credentials that others may read. What a shell makes with > of `flotilla user add` is read by
// others on most machines, and stays good.
func TestCredentialsOfProgramsThatOthersMayReadAreRefused(t *testing.T) {
	s := bustest.Start(t)
	hub := s.TCP()
	want := exposed(t, s.HubCreds())
	_, err := bus.ConnectHub(bustest.Context(t), hub)
	require.ErrorIs(t, err, bus.ErrSetup)
	require.ErrorContains(t, err, want)
	agent := bus.Options{Fleet: bustest.Fleet, URL: s.URL(), Creds: filepath.Join(t.TempDir(), "berlin.creds"), Log: zerolog.Nop()}
	require.NoError(t, os.WriteFile(agent.Creds, bustest.AgentCreds(t, s.Server, "berlin"), 0o600))
	want = exposed(t, agent.Creds)
	_, err = member.Connect(t.Context(), agent, "berlin")
	require.ErrorContains(t, err, want)
	exposed(t, s.OperatorCreds())
	person := s.TCP()
	person.Creds = s.OperatorCreds()
	c, err := bus.ConnectClient(bustest.Context(t), person)
	require.NoError(t, err)
	c.Close()
}

// A context of the nats command names such files too.
func TestAContextWhoseKeysOthersMayReadIsRefused(t *testing.T) {
	s := bustest.Start(t)
	home := t.TempDir()
	folder := filepath.Join(home, ".config", "nats", "context")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	text := fmt.Sprintf(`{"url": %q, "creds": %q}`, s.URL(), s.HubCreds())
	require.NoError(t, os.WriteFile(filepath.Join(folder, "fleet.json"), []byte(text), 0o644))
	o := bus.Options{Fleet: bustest.Fleet, Context: "fleet", Log: zerolog.Nop(), Getenv: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}
	hub, err := bus.ConnectHub(bustest.Context(t), o)
	require.NoError(t, err)
	hub.Close()
	want := exposed(t, s.HubCreds())
	_, err = bus.ConnectHub(bustest.Context(t), o)
	require.ErrorContains(t, err, want)
}
