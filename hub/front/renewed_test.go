package front_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// A request that was let in with a token, and whose body comes when the person was renewed, is refused.
func TestARequestEndsWithItsToken(t *testing.T) {
	admin, c := adminAndAnna(t)
	base, err := url.Parse(c.config.Host)
	require.NoError(t, err)
	side, err := rest.TLSConfigFor(c.config)
	require.NoError(t, err)
	conn, err := tls.Dial("tcp", base.Host, side)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"after","namespace":"shop"},"data":{"a":"1"}}`
	_, err = fmt.Fprintf(conn, "POST /api/v1/namespaces/shop/configmaps HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		base.Host, c.config.BearerToken, len(body))
	require.NoError(t, err)
	answers := bufio.NewReader(conn)
	answer, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusContinue, answer.StatusCode, "it was let in")
	life := map[string]any{"name": "anna", "life": "1h", "renew": true}
	require.NoError(t, bus.Request(bustest.Context(t), admin, api.VerbUserAdd, life, nil, bus.RequestOptions{}))
	_, err = conn.Write([]byte(body))
	require.NoError(t, err)
	answer, err = http.ReadResponse(answers, nil)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
}
