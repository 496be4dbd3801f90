package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"flotilla/core/api"
)

// stopPatience is for how long Stop waits for requests that run. It is shorter than what is left of a lease in danger, so
// that a hub whose requests do not end competes again in time.
const stopPatience = 3 * time.Second

// errStopped is why the context of a request ends that a service does not wait for any longer.
var errStopped = errors.New("the service has stopped")

// serving is how the requests of a service end with it.
type serving struct {
	// within returns a context that ends when ctx does, and when the service waits for its requests no longer.
	within func(ctx context.Context) (context.Context, context.CancelFunc)
	giveUp context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running int
	over    chan struct{} // closed once no request runs after the end
}

// begin lets requests in, whose contexts end with ctx at the latest.
func (v *serving) begin(ctx context.Context) {
	ctx, v.giveUp = context.WithCancel(ctx)
	v.over = make(chan struct{})
	v.within = func(request context.Context) (context.Context, context.CancelFunc) {
		request, cancel := context.WithCancelCause(request)
		unlink := context.AfterFunc(ctx, func() { cancel(errStopped) })
		return request, func() { unlink(); cancel(nil) }
	}
}

// open counts a request in, unless the service stopped.
func (v *serving) open() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.running++
	}
	return !v.closed
}

// leave counts a request out.
func (v *serving) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running--; v.closed && v.running == 0 {
		close(v.over)
	}
}

// close lets no request in any more.
func (v *serving) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed && v.running == 0 {
		close(v.over)
	}
	v.closed = true
}

// end waits for the requests that run. After stopPatience it ends their contexts, and returns how many it does not wait for.
func (v *serving) end() (left int) {
	v.close()
	defer v.giveUp()
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-v.over:
		return 0
	case <-patience.C:
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.running
}

// Stop takes no new request, answers those that run, and returns. It waits three seconds for them: what they would
// write after that is refused, as the writes of any hub are that leads no more.
func (s *Service) Stop() {
	if err := s.micro.Stop(); err != nil {
		s.conn.Log.Warn().Err(err).Msg("stopping the service")
	}
	s.stopForwards()
	if left := s.end(); left > 0 {
		s.conn.Log.Warn().Int("requests", left).Dur("waited", stopPatience).Msg("the service has stopped, and waits for requests no longer")
	}
}

func notLeading() error {
	return &api.Failure{Code: api.CodeUnavailable, Message: "this hub does not lead any more: ask again"}
}

// ended is the error of a request. Where the service ended its context, it is a reason to ask again.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errStopped) {
		return notLeading()
	}
	return err
}
