package lab

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func listen(t *testing.T, p *port, share bool) error {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if share {
			controlErr := raw.Control(func(socket uintptr) {
				err = unix.SetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
			})
			err = errors.Join(err, controlErr)
		}
		return err
	}}
	listener, err := config.Listen(t.Context(), "tcp4", "127.0.0.1:"+p.String())
	if err == nil {
		err = listener.Close()
	}
	return err
}

func TestAPortIsKeptForWhoShares(t *testing.T) {
	kept, err := reserve()
	require.NoError(t, err)
	other, err := reserve()
	require.NoError(t, err)
	defer other.release()
	require.NotEqual(t, kept.number, other.number)
	require.ErrorIs(t, listen(t, kept, false), syscall.EADDRINUSE)
	require.NoError(t, listen(t, kept, true))
	require.NoError(t, listen(t, kept, true), "again, after the first server went")
	kept.release()
	kept.release()
	require.NoError(t, listen(t, kept, false))
}

func TestCertificatesAreGoodInTheirClusterAlone(t *testing.T) {
	m1, err := newAuthority("m1")
	require.NoError(t, err)
	m2, err := newAuthority("m2")
	require.NoError(t, err)
	server, err := m1.server()
	require.NoError(t, err)
	client, err := m1.client("jane", []string{"auditors"})
	require.NoError(t, err)
	require.Equal(t, "jane", parse(t, client).Subject.CommonName)
	require.Equal(t, []string{"auditors"}, parse(t, client).Subject.Organization)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		require.NoError(t, verify(t, m1, server, x509.VerifyOptions{DNSName: host}))
		require.Error(t, verify(t, m2, server, x509.VerifyOptions{DNSName: host}))
	}
	require.Error(t, verify(t, m1, server, x509.VerifyOptions{DNSName: "example.com"}))
	ofClients := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	require.NoError(t, verify(t, m1, client, x509.VerifyOptions{KeyUsages: ofClients}))
	require.Error(t, verify(t, m2, client, x509.VerifyOptions{KeyUsages: ofClients}))
	require.Error(t, verify(t, m1, server, x509.VerifyOptions{KeyUsages: ofClients}), "a server is no client")
}

func parse(t *testing.T, p pair) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(p.certificate)
	require.NotNil(t, block)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return certificate
}

func verify(t *testing.T, a *authority, p pair, options x509.VerifyOptions) error {
	t.Helper()
	options.Roots = x509.NewCertPool()
	options.Roots.AddCert(a.certificate)
	_, err := parse(t, p).Verify(options)
	return err
}

func TestFoldersOfKilledLabsAreSwept(t *testing.T) {
	under := t.TempDir()
	lives, lock, err := lockedFolder(under)
	require.NoError(t, err)
	killed, gone, err := lockedFolder(under)
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	elsewhere := filepath.Join(under, "somebody")
	require.NoError(t, os.Mkdir(elsewhere, 0o700))
	require.NoError(t, sweepFolders(under))
	require.DirExists(t, lives)
	require.NoDirExists(t, killed)
	require.DirExists(t, elsewhere)
	require.NoError(t, lock.Close())
}

func TestATailIsTheLastOfWhatWasSaidSince(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	lines := strings.Repeat("a line\n", tailLines)
	require.NoError(t, os.WriteFile(log, []byte("first\n"+lines), 0o600))
	require.Equal(t, strings.TrimSpace(lines), tail(log, 0))
	require.Equal(t, "a line\na line", tail(log, int64(len("first\n"+lines)-len("a line\na line\n"))))
	require.Empty(t, tail(log, int64(len("first\n"+lines))))
	require.Empty(t, tail(log, 1<<20), "a log that was longer once")
	require.NoError(t, os.WriteFile(log, []byte(strings.Repeat("x", 2*tailBytes)), 0o600))
	require.Len(t, tail(log, 0), tailBytes)
	require.Contains(t, tail(log+"-none", 0), "no such file")
}

func TestWaitingEndsWithWhatIsNeeded(t *testing.T) {
	never := errors.New("not yet")
	log := filepath.Join(t.TempDir(), "m1-kube-apiserver")
	p, err := startProcess(log, "sh", "-c", "echo bad flag; exit 2")
	require.NoError(t, err)
	defer p.kill()
	err = until(t.Context(), []*process{p}, func(context.Context) error { return never })
	require.ErrorContains(t, err, "m1-kube-apiserver has ended: exit status 2; the end of its log:\nbad flag")

	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	polls := 0
	err = Until(ctx, func(ctx context.Context) error {
		if polls++; polls == 2 {
			cancel(enough)
			return ctx.Err()
		}
		return never
	})
	require.ErrorIs(t, err, enough)
	require.ErrorIs(t, err, never)
	require.NoError(t, Until(ctx, func(context.Context) error { return nil }))
}

func TestRequestsAreReadFromTheAuditLog(t *testing.T) {
	const log = `{"kind":"Event","verb":"list","user":{"username":"jane"},"objectRef":{"resource":"configmaps"},"responseStatus":{"code":200}}
{"kind":"Event","verb":"create","user":{"username":"admin"},"impersonatedUser":{"username":"joe"},"objectRef":{"resource":"pods","subresource":"eviction"},"responseStatus":{"code":429}}
{"kind":"Event","verb":"get","user":{"username":"admin"},"requestURI":"/readyz","responseStatus":{"code":200}}
`
	c := &Cluster{folder: t.TempDir()}
	_, err := c.Requests()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(c.file(fileAudit), []byte(log+`{"kind":"Eve`), 0o600))
	requests, err := c.Requests()
	require.NoError(t, err)
	require.Equal(t, []Request{
		{User: "jane", Verb: "list", Resource: "configmaps", Code: 200},
		{User: "joe", Verb: "create", Resource: "pods/eviction", Code: 429},
		{User: "admin", Verb: "get", Code: 200},
	}, requests)
}
