package probe_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/probe"
)

// As kube-apiserver answers: a word when all is well, a line a check otherwise or when asked for.
func TestAnswers(t *testing.T) {
	full := errors.New("no room\nin /data")
	var disk error
	mux := http.NewServeMux()
	probe.Handle(mux, probe.Ready, probe.Ping, probe.Check{Name: "disk", Run: func(context.Context) error { return disk }})
	get := func(query string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz"+query, nil))
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		query string
		disk  error
		code  int
		body  string
	}{
		{"", nil, http.StatusOK, "ok\n"},
		{"?verbose", nil, http.StatusOK, "[+]ping ok\n[+]disk ok\nreadyz check passed\n"},
		{"", full, http.StatusServiceUnavailable, "[+]ping ok\n[-]disk failed: no room; in /data\nreadyz check failed\n"},
		{"?verbose&exclude=disk", full, http.StatusOK, "[+]ping ok\n[+]disk excluded: ok\nreadyz check passed\n"},
	} {
		disk = c.disk
		code, body := get(c.query)
		require.Equal(t, c.code, code, c.query)
		require.Equal(t, c.body, body, c.query)
	}
}
