package gate

import (
	"net/http"
	"time"
)

// How long whoever asks for metrics or health may take, see Server.
const (
	header = 5 * time.Second
	read   = 10 * time.Second
	write  = 30 * time.Second
	idle   = 2 * time.Minute
	// mostHeader is the most bytes that the headers of a request may have.
	mostHeader = 32 << 10
)

// Server answers questions that are short and have short answers, as those for metrics and health, and waits for nobody without end.
func Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: header, ReadTimeout: read, WriteTimeout: write, IdleTimeout: idle, MaxHeaderBytes: mostHeader,
	}
}

// leftWithin is how long what a handler left of a body may take: before it answers a server waits for the rest of a short one.
const leftWithin = time.Second

// Bodies has the body of each request come within some time, and soon where the handler has done without it. A handler may say otherwise.
func Bodies(handler http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			handler.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		until := func(wait time.Duration) { _ = control.SetReadDeadline(time.Now().Add(wait)) }
		until(within)
		defer until(leftWithin)
		handler.ServeHTTP(w, r)
	})
}
