package notifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/subjects"
)

// receiver is a real HTTP server that notes what it is sent.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []received
	answers func(n int) int // status of the nth request, from 1
}

type received struct {
	body   string
	header http.Header
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{answers: func(int) int { return http.StatusOK }}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	r.mu.Lock()
	r.got = append(r.got, received{string(body), request.Header})
	status := r.answers(len(r.got))
	r.mu.Unlock()
	if err != nil {
		status = http.StatusInternalServerError
	}
	if status == http.StatusFound {
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "said by the receiver")
}

func (r *receiver) answer(f func(n int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = f
}

func (r *receiver) bodies() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []string{}
	for _, g := range r.got {
		out = append(out, g.body)
	}
	return out
}

func (r *receiver) until(t *testing.T, want ...string) {
	t.Helper()
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if got := r.bodies(); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("received %v, expected %v", got, want)
		}
		return nil
	})
}

// hook is a notification that posts the message of each event, as a JSON text.
func hook(url string) configs.Notification {
	return configs.Notification{
		Name: "hook", RetryFor: configs.Duration(time.Hour),
		Webhook: &configs.Webhook{URL: url, Template: "{{ json .Message }}", Timeout: configs.Duration(5 * time.Second)},
	}
}

func channels(t *testing.T, list ...configs.Notification) []Channel {
	t.Helper()
	out, err := Channels(list, func(name string) string { return "value-of-" + name })
	require.NoError(t, err)
	return out
}

// serve runs a notifier until the returned function is called or the test ends.
func serve(t *testing.T, s *store.Store, list ...configs.Notification) (stop func()) {
	t.Helper()
	n := New(s, Options{Channels: channels(t, list...), FirstPause: 5 * time.Millisecond, Log: zerolog.New(zerolog.NewTestWriter(t))})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-ended) })
	t.Cleanup(stop)
	for _, c := range list {
		bustest.Eventually(t, func() error {
			if _, ok := position(s, c.Name); !ok {
				return errors.New(c.Name + " has not begun")
			}
			return nil
		})
	}
	return stop
}

func position(s *store.Store, name string) (api.NotificationPosition, bool) {
	p, _, ok := store.TableOf[api.NotificationPosition](s.State, subjects.Notifications).Get(name)
	return p, ok
}

func happen(s *store.Store, messages ...string) {
	for _, m := range messages {
		s.Audit.Record(api.Audit{Object: "run/spring", Type: "Normal", Reason: "Running", Message: m, By: "runner"})
	}
}

// untilPosition waits until the record is as wanted.
func untilPosition(t *testing.T, s *store.Store, want func(api.NotificationPosition) bool) api.NotificationPosition {
	t.Helper()
	var p api.NotificationPosition
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if p, _ = position(s, "hook"); !want(p) {
			return fmt.Errorf("position %+v", p)
		}
		return nil
	})
	return p
}
