package bounds

import (
	"context"
	"net/http"
	"sync"

	"flotilla/bus/gate"
	"flotilla/hub/front/turns"
)

// Arriving counts requests before it is known whose they are.
type Arriving struct {
	Turns *turns.Turns // of networks
	// Beside wraps work: it goes on beside the work and ends before it where whoever asked has gone. For HTTP/2 their stream is free then
	// for another request.
	Beside func(work http.Handler) http.Handler
	// Refuse answers who finds no turn.
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// arrivedKey is where a context has what ends the turn that its request arrived in.
type arrivedKey struct{}

// Count has each request to a handler count until the work on it has ended, or is Known. What has ended is not begun.
func (a Arriving) Count(work http.Handler) http.Handler {
	beside := a.Beside(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer Known(r.Context())
		begin(work, w, r)
	}))
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn, err := a.Turns.Enter(gate.Network(r.RemoteAddr))
		if err != nil {
			a.Refuse(w, r, err)
			return
		}
		beside.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), arrivedKey{}, sync.OnceFunc(turn.Leave))))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { begin(counted, w, r) })
}

// begin has a request answered unless it has ended.
func begin(by http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.Context().Err() != nil {
		w.WriteHeader(http.StatusGatewayTimeout)
		return
	}
	by.ServeHTTP(w, r)
}

// Known ends the turn that a request arrived in: from now on it counts as its person's.
func Known(ctx context.Context) {
	if leave, is := ctx.Value(arrivedKey{}).(func()); is {
		leave()
	}
}
