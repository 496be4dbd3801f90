package server_test

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
)

// shownBy is the certificate that a side of TLS shows now.
func shownBy(t *testing.T, config *tls.Config) *x509.Certificate {
	t.Helper()
	shown, err := config.GetCertificate(nil)
	require.NoError(t, err)
	return shown.Leaf
}

// requireSigned requires that an authority signed a certificate for a name.
func requireSigned(t *testing.T, ca []byte, shown *x509.Certificate, name string) {
	t.Helper()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(ca))
	_, err := shown.Verify(x509.VerifyOptions{Roots: pool, DNSName: name})
	require.NoError(t, err)
}

// endSoon has a certificate that ends soon lie in the place of the one that is kept.
func endSoon(t *testing.T, dir, prefix string) *x509.Certificate {
	t.Helper()
	file := func(name string) string { return filepath.Join(dir, "tls", prefix+name) }
	signer, err := tls.LoadX509KeyPair(file("ca.pem"), file("ca-key.pem"))
	require.NoError(t, err)
	shown, err := tls.LoadX509KeyPair(file("cert.pem"), file("key.pem"))
	require.NoError(t, err)
	late := *shown.Leaf
	late.SerialNumber, late.NotAfter = big.NewInt(7), late.NotBefore.Add(30*24*time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, &late, signer.Leaf, late.PublicKey, signer.PrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file("cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	return &late
}

// A certificate is made anew, by the same authority, before it ends and when names are missing in it.
func TestAnAuthorityOfItsOwnRenewsCertificates(t *testing.T) {
	own := server.Own{Dir: t.TempDir(), Prefix: "front-", Names: []string{"localhost"}, Of: "the front", Log: zerolog.Nop()}
	running, ca, err := server.OwnTLS(own)
	require.NoError(t, err)
	first := shownBy(t, running)
	requireSigned(t, ca, first, "localhost")
	info, err := os.Stat(filepath.Join(own.Dir, "tls", "front-ca-key.pem"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	again, kept, err := server.OwnTLS(own)
	require.NoError(t, err)
	require.Equal(t, ca, kept)
	require.Equal(t, first.SerialNumber, shownBy(t, again).SerialNumber)

	late := endSoon(t, own.Dir, own.Prefix)
	bustest.Eventually(t, func() error {
		if shown := shownBy(t, running); shown.SerialNumber.Cmp(first.SerialNumber) == 0 {
			return errors.New("it shows the first certificate still")
		}
		return nil
	})
	second := shownBy(t, running)
	require.NotEqual(t, late.SerialNumber, second.SerialNumber)
	requireSigned(t, ca, second, "localhost")

	own.Names = append(own.Names, "fleet.example.com")
	named, _, err := server.OwnTLS(own)
	require.NoError(t, err)
	requireSigned(t, ca, shownBy(t, named), "fleet.example.com")
}

// Where there is no data directory nothing is written, and nothing outlives the process.
func TestAnAuthorityInMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	own := server.Own{Names: []string{"127.0.0.1"}, Of: "the front", Log: zerolog.Nop()}
	config, ca, err := server.OwnTLS(own)
	require.NoError(t, err)
	requireSigned(t, ca, shownBy(t, config), "127.0.0.1")
	_, other, err := server.OwnTLS(own)
	require.NoError(t, err)
	require.NotEqual(t, ca, other)
	found, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, found)
}
