package bounds

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Who watches over a websocket says little: so many bytes at once, and so many a second, for pings and answers to pings.
const heardAtOnce, heardEach = 4 << 10, 64

// errLoud ends a websocket.
var errLoud = errors.New("more came over a websocket than a watch has to be told")

// hushed is the answer to a request for a websocket. What is sent over it is read by nobody, and kept by the library as one message.
type hushed struct{ http.ResponseWriter }

// Unwrap is the writer below.
func (h *hushed) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Hijack takes over the connection, over which little may come from now on.
func (h *hushed) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	little := &little{from: rw.Reader, left: heardAtOnce, at: time.Now()} //nolint:forbidigo // connections go by the clock of the machine
	return conn, bufio.NewReadWriter(bufio.NewReaderSize(little, heardAtOnce), rw.Writer), nil
}

// little reads what comes until it is too much.
type little struct {
	from io.Reader
	left float64 // bytes that may come at a time
	at   time.Time
}

func (l *little) Read(into []byte) (int, error) {
	n, err := l.from.Read(into)
	now := time.Now() //nolint:forbidigo // as above
	l.left = min(l.left+heardEach*now.Sub(l.at).Seconds(), heardAtOnce) - float64(n)
	if l.at = now; l.left < 0 {
		return 0, errLoud
	}
	return n, err
}
