package front

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/gate"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// evesDoor says that every token but "nobody" is eve's.
type evesDoor struct{ Door }

// Token says whose a token is.
func (evesDoor) Token(_ context.Context, token string) (api.Person, error) {
	if token == "nobody" {
		return api.Person{}, api.ErrNoEntry
	}
	return api.Person{Name: "eve", Role: api.RoleViewer}, nil
}

// A connection is that of the person whose token came on it, over both versions of HTTP; one of whoever shows none that holds is a
// stranger's (H47).
func TestConnectionsBelongToPeople(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token  string
		newer  bool // HTTP/2
		person string
	}{
		"of a person, HTTP/1.1": {"hers", false, "eve"},
		"of a person, HTTP/2":   {"hers", true, "eve"},
		"of a stranger":         {"nobody", false, ""}, // over HTTP/2 it is closed once it was refused
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			front, err := New(Options{Door: evesDoor{}, Now: elsewhen.Now})
			require.NoError(t, err)
			t.Cleanup(front.Close)
			server := httptest.NewUnstartedServer(front)
			way := gate.New(server.Listener, 1)
			server.Listener, server.EnableHTTP2 = way, c.newer
			gate.Introduce(server.Config)
			server.StartTLS()
			t.Cleanup(server.Close)
			asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/version", http.NoBody)
			require.NoError(t, err)
			asked.Header.Set("Authorization", "Bearer "+c.token)
			answer, err := server.Client().Do(asked)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, answer.Body) // a connection with something to be read is closed
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, c.newer, answer.ProtoMajor == 2)
			next, full := way.Full()
			require.True(t, full)
			require.Equal(t, c.person != "", next.Person)
			if c.person != "" {
				require.Equal(t, c.person, next.Name)
			}
		})
	}
}
