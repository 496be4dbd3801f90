package server_test

import (
	"crypto/x509"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/server"
)

// Nobody on the way reads along: beyond loopback there is TLS, or no server.
func TestAServerDoesNotListenBeyondLoopbackWithoutTLS(t *testing.T) {
	for want, o := range map[string]server.Options{
		"listening on 0.0.0.0 without TLS, where everybody on the way reads along: add --tls-self-signed, " +
			"or --tls-cert FILE --tls-key FILE, or listen on 127.0.0.1": {Host: "0.0.0.0"},
		"found one of --tls-cert and --tls-key, expected both: the certificate and its key": {TLS: server.TLS{Key: "k"}},
		"found --tls-ca without a certificate that it signed: add --tls-cert and --tls-key": {TLS: server.TLS{CA: "c"}},
		"found a certificate beside a self-signed one, expected one of them: leave out --tls-self-signed, " +
			"or --tls-cert, --tls-key and --tls-ca": {TLS: server.TLS{Cert: "c", Key: "k", SelfSigned: true}},
	} {
		o.Dir, o.Port, o.Log = t.TempDir(), -1, zerolog.Nop()
		_, err := server.Start(o)
		require.EqualError(t, err, want)
	}
}

// ofAgent are the options of an agent that trusts an authority.
func ofAgent(t *testing.T, server *bustest.Server, ca string) bus.Options {
	t.Helper()
	o := server.AgentOptions(t, "berlin")
	o.CA = ca
	return o
}

// serial is the number of the certificate that a server shows to a new client.
func serial(t *testing.T, server *bustest.Server, ca string) *big.Int {
	t.Helper()
	o := server.TCP()
	o.CA = ca
	c, err := bus.ConnectHub(bustest.Context(t), o)
	require.NoError(t, err)
	defer c.Close()
	state, err := c.NC.TLSConnectionState()
	require.NoError(t, err)
	return state.PeerCertificates[0].SerialNumber
}

// A hub that makes its own authority keeps it, hands it on, and only those who name it, and speak TLS, get in.
func TestASelfSignedServer(t *testing.T) {
	server := bustest.Start(t, func(o *server.Options) {
		o.Host, o.TLS = "0.0.0.0", server.TLS{SelfSigned: true, Names: []string{"hub.example"}}
	})
	require.True(t, strings.HasPrefix(server.URL(), "tls://127.0.0.1:"), server.URL())
	ca, err := server.CA()
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(ca))
	for _, secret := range []string{"ca-key.pem", "key.pem"} {
		info, err := os.Stat(filepath.Join(filepath.Dir(server.CAFile()), secret))
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm(), secret)
	}

	agent, err := member.Connect(bustest.Context(t), ofAgent(t, server, server.CAFile()), "berlin")
	require.NoError(t, err)
	t.Cleanup(agent.Close)
	bustest.Eventually(t, agent.Up)

	o := server.TCP()
	o.Creds = server.OperatorCreds()
	_, err = bus.ConnectClient(bustest.Context(t), o)
	require.ErrorIs(t, err, bus.ErrSetup)
	require.ErrorContains(t, err, "name the authority of its certificate with --tls-ca (NATS_CA): the hub keeps its own in <data>/tls/ca.pem")
	o.Getenv = func(name string) string { return map[string]string{"NATS_CA": server.CAFile()}[name] }
	client, err := bus.ConnectClient(bustest.Context(t), o)
	require.NoError(t, err)
	state, err := client.NC.TLSConnectionState()
	require.NoError(t, err)
	_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: "hub.example"})
	require.NoError(t, err)
	client.Close()

	before := serial(t, server, server.CAFile())
	server.Restart(t)
	require.Equal(t, before, serial(t, server, server.CAFile()), "kept")
	again, err := server.CA()
	require.NoError(t, err)
	require.Equal(t, ca, again)

	hub, err := bus.ConnectHub(bustest.Context(t), server.Options())
	require.NoError(t, err, "within the process")
	hub.Close()
}

// A certificate that somebody renews on disk is shown to the next who connects; files that are half there
// change nothing.
func TestACertificateIsReadAnewWhenItChanges(t *testing.T) {
	first := bustest.Start(t, func(o *server.Options) { o.TLS.SelfSigned = true })
	second := bustest.Start(t, func(o *server.Options) { o.TLS.SelfSigned = true })
	dir := t.TempDir()
	take := func(from *bustest.Server, file string) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(from.CAFile()), file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	take(first, "cert.pem")
	take(first, "key.pem")
	both := filepath.Join(dir, "ca.pem")
	var authorities []byte
	for _, s := range []*bustest.Server{first, second} {
		ca, err := s.CA()
		require.NoError(t, err)
		authorities = append(authorities, ca...)
	}
	require.NoError(t, os.WriteFile(both, authorities, 0o600))
	server := bustest.Start(t, func(o *server.Options) {
		o.TLS = server.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: both}
	})
	require.Equal(t, serial(t, first, both), serial(t, server, both))
	take(second, "cert.pem")
	require.Equal(t, serial(t, first, both), serial(t, server, both), "its key is not there yet")
	take(second, "key.pem")
	want := serial(t, second, both)
	bustest.Eventually(t, func() error {
		if shown := serial(t, server, both); shown.Cmp(want) != 0 {
			return fmt.Errorf("it shows %s, not %s", shown, want)
		}
		return nil
	})
}

func TestAnAuthorityThatIsNoneIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	_, err := bus.ConnectClient(t.Context(), bus.Options{URL: "tls://127.0.0.1:1", CA: file})
	require.ErrorIs(t, err, bus.ErrSetup)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("no"), 0o600))
	_, err = bus.ConnectClient(t.Context(), bus.Options{URL: "tls://127.0.0.1:1", CA: file})
	require.EqualError(t, err, "where to connect: --tls-ca "+file+": found no certificate in it, expected one in PEM, as a hub keeps it in <data>/tls/ca.pem")
}
