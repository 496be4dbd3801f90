package places

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrStopped is why the context of a request ends that nobody waits for any longer.
var ErrStopped = errors.New("the service has stopped")

// Serving counts the requests that run, and ends with them. Its methods may be called from any goroutine.
type Serving struct {
	ctx    func() context.Context // that of all requests
	giveUp context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running int
	over    chan struct{} // closed once no request runs after Close
}

// NewServing lets requests in, whose contexts end with ctx at the latest.
func NewServing(ctx context.Context) *Serving {
	ctx, giveUp := context.WithCancel(ctx)
	return &Serving{ctx: func() context.Context { return ctx }, giveUp: giveUp, over: make(chan struct{})}
}

// Open counts a request in, unless the service was closed. Who was counted in calls Leave.
func (s *Serving) Open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running++
	}
	return !s.closed
}

// Leave counts a request out.
func (s *Serving) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.closed && s.running == 0 {
		close(s.over)
	}
}

// Within returns a context that ends when that of a request does, and, for ErrStopped, when nobody waits for requests any longer.
func (s *Serving) Within(request context.Context) (context.Context, context.CancelFunc) {
	request, cancel := context.WithCancelCause(request)
	unlink := context.AfterFunc(s.ctx(), func() { cancel(ErrStopped) })
	return request, func() { unlink(); cancel(nil) }
}

// Ended says that an error of a request is of the end of the service.
func Ended(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), ErrStopped)
}

// Close lets no request in any more, and waits for those that run. It waits no longer than so long, ends their contexts
// then, and returns how many run still.
func (s *Serving) Close(patience time.Duration) (left int) {
	s.close()
	defer s.giveUp()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-s.over:
		return 0
	case <-late.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

func (s *Serving) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.running == 0 {
		close(s.over)
	}
	s.closed = true
}
