package front_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"flotilla/core/api"
)

// unread asks for something, and takes nothing of the answer.
func unread(t *testing.T, config *rest.Config, path string) *tls.Conn {
	t.Helper()
	at, err := url.Parse(config.Host)
	require.NoError(t, err)
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	made, err := dialer.DialContext(t.Context(), "tcp", at.Host)
	require.NoError(t, err)
	conn := made.(*tls.Conn)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.NetConn().(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, at.Host, config.BearerToken)
	require.NoError(t, err)
	return conn
}

// answered reads how somebody is answered, and takes no more of the answer.
func answered(t *testing.T, conn *tls.Conn) int {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	require.NoError(t, err)
	return answer.StatusCode
}

// Whoever asks for long lists and does not read them has room for some, then none; others are answered meanwhile.
func TestListsThatNobodyReads(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	ada, eve := f.admin(), f.as(f.hub, "eve", api.RoleViewer)
	text := strings.Repeat("x", 850<<10)
	for i := range 15 {
		ada.create(configMaps, settings(fmt.Sprint("a", i), map[string]any{"x": text}))
	}
	const path = "/api/v1/configmaps"
	first, second := unread(t, eve, path), unread(t, eve, path) // at once: each ends 10 s after it began
	for _, conn := range []*tls.Conn{first, second} {
		require.Equal(t, http.StatusOK, answered(t, conn))
	}
	require.Equal(t, http.StatusTooManyRequests, answered(t, unread(t, eve, path+"?timeout=2s")))
	list, err := ada.Resource(configMaps).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 15)
	require.NoError(t, first.Close())
	list, err = f.client(eve).Resource(configMaps).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 15)
}
