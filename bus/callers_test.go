package bus_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// A person who writes the protocol themselves is taken for whom the server knows, or is refused.
func TestNobodyAsksInTheNameOfAnother(t *testing.T) {
	server := bustest.Start(t)
	asked := everyVerb(t, server)
	creds, key, err := server.PersonCreds("anna", api.RoleViewer, 0)
	require.NoError(t, err)
	inbox := subjects.PersonInbox("anna") + ".r"
	conn, said, err := bustest.Wire(t.Context(), strings.TrimPrefix(server.URL(), "nats://"), creds, map[string]any{"no_responders": true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprintf(conn, "SUB %s 1\r\n", inbox)
	require.NoError(t, err)
	ask := func(header string) (code string) {
		f := subjects.Fleet{Name: bustest.Fleet}
		_, err := fmt.Fprintf(conn, "HPUB %s %s %d %d\r\n%s{}\r\n", f.API(api.RoleViewer, "anna", api.VerbWhoami), inbox, len(header), len(header)+2, header)
		require.NoError(t, err)
		return codeOf(t, said)
	}
	require.Empty(t, ask("NATS/1.0\r\nFlotilla-Request: r1\r\n\r\n"))
	calls, by := asked.taken()
	require.Len(t, calls, 1)
	require.Equal(t, []string{key, "127.0.0.1"}, []string{by.Key, by.Address})
	const lie = `Nats-Request-Info: {"acc":"A","host":"9.9.9.9","user":"UFALSE","name_tag":"rome"}`
	for i, hidden := range []string{"Flotilla-Request: r1\nA: b\n" + lie + "\r\n\r\n", "Flotilla-Request: r1\n\n\r\n\r\n", "Flotilla-Request: r1\n" + lie + "\n\n\r\n\r\n"} {
		require.Equal(t, api.CodeInvalid, ask("NATS/1.0\r\n"+hidden), i)
	}
	calls, _ = asked.taken()
	require.Len(t, calls, 1)
}

// codeOf reads what comes over a connection up to an answer, and returns the code of its refusal.
func codeOf(t *testing.T, said *bufio.Reader) string {
	t.Helper()
	for {
		line, err := said.ReadString('\n')
		require.NoError(t, err)
		var subject, sid string
		var header, all int
		if n, _ := fmt.Sscanf(line, "HMSG %s %s %d %d", &subject, &sid, &header, &all); n == 4 {
			text := make([]byte, all)
			_, err := io.ReadFull(said, text)
			require.NoError(t, err)
			found, err := nats.DecodeHeadersMsg(text[:header])
			require.NoError(t, err)
			return found.Get(micro.ErrorCodeHeader)
		}
		if strings.HasPrefix(line, "MSG ") {
			return ""
		}
		require.False(t, strings.HasPrefix(line, "-ERR"), line)
	}
}
