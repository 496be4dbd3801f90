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

// Shed closes connections of a server that ask nothing at the moment; their clients make others when they need them.
func Shed(server *http.Server) {
	server.SetKeepAlivesEnabled(false)
	server.SetKeepAlivesEnabled(true)
}
