package gate

import (
	"net/http"
	"time"
)

// What bounds whoever asks by HTTP, see Serving and Server.
const (
	header = 5 * time.Second
	read   = 10 * time.Second
	write  = 30 * time.Second
	idle   = 2 * time.Minute
	// mostHeader is the most bytes that the headers of a request may have.
	mostHeader = 32 << 10
	// mostFrame is the most bytes that a frame of HTTP/2 may have, the least that the protocol allows: a server has room for a whole frame before
	// it knows whose it is. It is 1 MiB where nothing is said.
	mostFrame = 16 << 10
	// ahead and aheadOfOne are the most bytes of bodies that a connection of HTTP/2, and one of its requests, may send before they are read. They
	// are 1 MiB each where nothing is said.
	ahead      = 256 << 10
	aheadOfOne = 128 << 10
)

// Serving answers by HTTP with what holds for all that a program serves so: a connection takes little, whosever it is.
func Serving(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: header, IdleTimeout: idle, MaxHeaderBytes: mostHeader,
		HTTP2: &http.HTTP2Config{MaxReadFrameSize: mostFrame, MaxReceiveBufferPerConnection: ahead, MaxReceiveBufferPerStream: aheadOfOne},
	}
}

// Server answers questions that are short and have short answers, as those for metrics and health, and waits for nobody without end.
func Server(handler http.Handler) *http.Server {
	server := Serving(handler)
	server.ReadTimeout, server.WriteTimeout = read, write
	return server
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
