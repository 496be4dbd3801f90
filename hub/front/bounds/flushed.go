package bounds

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// flushedKey is where a context has what says that all of an answer so far was taken.
type flushedKey struct{}

// Flushing has Flushed say of an answer that goes on when all of it so far was taken.
func Flushing(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	if wsstream.IsWebSocketRequest(r) { // which flushes nothing
		return &hushed{w}, r
	}
	f := &flushing{w, make(chan struct{}, 1)}
	return responsewriter.WrapForHTTP1Or2(f), r.WithContext(context.WithValue(r.Context(), flushedKey{}, f.flushed))
}

// Flushed receives each time that all of the answer to a request so far was taken; nil where nobody says so.
func Flushed(ctx context.Context) chan struct{} {
	flushed, _ := ctx.Value(flushedKey{}).(chan struct{})
	return flushed
}

// Began waits until the header of an answer was taken, where that is said.
func Began(ctx context.Context, flushed <-chan struct{}) bool {
	if flushed == nil {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-flushed:
		return true
	}
}

// flushing notes when an answer is flushed.
type flushing struct {
	http.ResponseWriter
	flushed chan struct{}
}

// Unwrap is the writer below.
func (f *flushing) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// Flush sends what waits to be sent.
func (f *flushing) Flush() {
	_ = http.NewResponseController(f.ResponseWriter).Flush()
	select {
	case f.flushed <- struct{}{}:
	default:
	}
}
