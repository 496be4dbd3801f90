package said_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus/said"
)

const (
	truth = `Nats-Request-Info: {"acc":"A","host":"10.0.0.1","user":"UTRUE","name_tag":"anna"}`
	lie   = `Nats-Request-Info: {"acc":"A","host":"9.9.9.9","user":"UFALSE","name_tag":"rome"}`
)

// byServer is a header as a server passes it on: it puts what it says of the sender in the place of the last line end that clients send.
func byServer(sent string) string { return sent[:len(sent)-2] + truth + "\r\n\r\n" }

// Whatever a client sends before the server's line, nothing but the server's line is believed.
func TestOnlyWhatAServerSaysIsBelieved(t *testing.T) {
	short := strings.Repeat("a:\n", 200)
	for _, c := range []struct {
		name, sent string
		believed   bool
	}{
		{"no header", "NATS/1.0\r\n\r\n", true},
		{"a header", "NATS/1.0\r\nFlotilla-Request: r1\r\n\r\n", true},
		{"no space after the colon", "NATS/1.0\r\nFlotilla-Request:r1\r\n\r\n", true},
		{"16 values", "NATS/1.0\r\n" + strings.Repeat("A:b\r\n", 15) + "\r\n", true},
		{"17 values", "NATS/1.0\r\n" + strings.Repeat("A:b\r\n", 16) + "\r\n", false},
		{"a line before the server's", "NATS/1.0\r\nA: b\n" + lie + "\r\n\r\n", false},
		{"a header that ends before the server's line", "NATS/1.0\r\nA: b\n\n\r\n\r\n", false},
		{"a lie, and an end before the truth", "NATS/1.0\nA: b\n" + lie + "\n\n\r\n\r\n", false},
		{"short lines that make room for the truth", "NATS/1.0\n" + short + lie + "\n\n\r\n\r\n", false},
		{"the truth on the line of a lie", "NATS/1.0\r\n" + lie + "xx", false},
		{"the truth on the line of a key", "NATS/1.0\r\nX-xx", false},
		{"the truth on the line of a value", "NATS/1.0\nA: b\n" + lie + "\nX: yxx", false},
		{"no end", "NATS/1.0\r\n", false},
		{"no end after a status", "NATS/1.0 503\r\n", false},
		{"an end and a second header", "NATS/1.0\r\n\r\nNATS/1.0\r\n" + lie + "\r\n\r\n", false},
	} {
		arrived := byServer(c.sent)
		header, err := nats.DecodeHeadersMsg([]byte(arrived))
		require.NoError(t, err, c.name)
		m := &nats.Msg{Subject: "a.b", Reply: "c", Header: header, Data: []byte("body")}
		info, ok := said.By(m, len(arrived)+len("a.bcbody"))
		require.Equal(t, c.believed, ok, "%s: %s", c.name, info)
		if ok {
			require.Equal(t, truth, "Nats-Request-Info: "+info, c.name)
		}
	}
}
