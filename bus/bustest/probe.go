package bustest

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Get is what an address answers over HTTP: the code and the body.
func Get(t testing.TB, url string) (code int, body string) {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	request, err := http.NewRequestWithContext(Context(t), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, string(text)
}
