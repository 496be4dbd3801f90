package bounds

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// piece is how long a piece of an answer is.
const piece = 32 << 10

// Taken has answers end that nobody takes: each piece has so much time, and all have that of the request.
func Taken(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pieces := &pieces{w, http.NewResponseController(w), r.Context().Err, within}
		pieces.may(0) // the connection may have been used before
		defer pieces.may(within)
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(pieces), r)
	})
}

// pieces writes an answer piece by piece.
type pieces struct {
	http.ResponseWriter
	control *http.ResponseController
	over    func() error // says that the request has ended
	within  time.Duration
}

// Unwrap is the writer below.
func (p *pieces) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// may lets a write wait for so long, 0 for any time. Not every connection has deadlines: those of tests have none.
func (p *pieces) may(wait time.Duration) {
	var until time.Time
	if wait > 0 {
		until = time.Now().Add(wait) //nolint:forbidigo // connections go by the clock of the machine
	}
	_ = p.control.SetWriteDeadline(until)
}

// Write sends some bytes. A first piece is sent after the request has ended too: it says so.
func (p *pieces) Write(all []byte) (sent int, err error) {
	defer p.may(0)
	for {
		p.may(p.within)
		n, err := p.ResponseWriter.Write(all[sent:min(len(all), sent+piece)])
		if sent += n; err != nil || sent == len(all) {
			return sent, err
		}
		if err := p.over(); err != nil {
			return sent, err
		}
	}
}

// Flush sends what waits to be sent.
func (p *pieces) Flush() {
	p.may(p.within)
	defer p.may(0)
	_ = p.control.Flush()
}
