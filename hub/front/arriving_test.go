package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/front/bounds"
	"flotilla/tests/elsewhen"
)

// busyDoor takes its time to say whose a token is, whoever waits for it, until it is free.
type busyDoor struct {
	Door
	asked, free chan struct{}
}

// Token says that it is nobody's.
func (d *busyDoor) Token(context.Context, string) (api.Person, error) {
	select {
	case <-d.free:
	default:
		d.asked <- struct{}{}
		<-d.free
	}
	return api.Person{}, api.ErrNoEntry
}

// stalled is a Front before such a door.
type stalled struct {
	t     *testing.T
	front *Front
	door  *busyDoor
}

func newStalled(t *testing.T) *stalled {
	t.Helper()
	g := &stalled{t: t, door: &busyDoor{asked: make(chan struct{}), free: make(chan struct{})}}
	var err error
	g.front, err = New(Options{Door: g.door, Now: elsewhen.Now})
	require.NoError(t, err)
	t.Cleanup(g.front.Close)
	return g
}

// come has a stranger ask from an address, who goes once somebody is asked whose their token is.
func (g *stalled) come(ctx context.Context, address string) *httptest.ResponseRecorder {
	g.t.Helper()
	ctx, goes := context.WithCancel(ctx)
	defer goes()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/configmaps", http.NoBody)
	request.RemoteAddr = address
	request.Header.Set("Authorization", "Bearer nobody")
	answer, over := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(over)
		g.front.ServeHTTP(answer, request)
	}()
	select {
	case <-g.door.asked:
		goes()
		<-over
	case <-over:
	}
	return answer
}

// What is begun for a request counts until the work on it has ended, not until whoever asked has gone, and before it is known whose it
// is: one network has a part of it, who finds no room is refused at once, and nothing is begun for them (H43).
func TestRequestsCountUntilTheirWorkHasEnded(t *testing.T) {
	t.Parallel()
	g := newStalled(t)
	begun := 0
	fill := func(address string) *httptest.ResponseRecorder {
		for range 1000 {
			answer := g.come(t.Context(), address)
			if answer.Code != http.StatusGatewayTimeout {
				return answer
			}
			begun++
		}
		require.Fail(t, "nobody is refused")
		return nil
	}
	answer := fill("192.0.2.7:1")
	require.Equal(t, http.StatusTooManyRequests, answer.Code, answer.Body)
	require.Equal(t, "1", answer.Header().Get("Retry-After"))
	require.Equal(t, 512, begun)
	require.Equal(t, http.StatusTooManyRequests, g.come(t.Context(), "192.0.2.7:2").Code, "on another connection")
	for i := range 3 {
		require.Equal(t, http.StatusTooManyRequests, fill(fmt.Sprintf("[2001:db8:0:%d::%d]:1", i, i)).Code)
		require.Equal(t, http.StatusTooManyRequests, fill(fmt.Sprintf("[2001:db8:0:%d::fffe]:1", i)).Code, "in the same network")
	}
	require.Equal(t, 4*512, begun)
	require.Equal(t, http.StatusTooManyRequests, g.come(t.Context(), "198.51.100.1:1").Code, "there is no room for anybody")

	close(g.door.free)
	bustest.Eventually(t, func() error {
		if code := g.come(t.Context(), "192.0.2.7:3").Code; code != http.StatusUnauthorized {
			return fmt.Errorf("found %d", code)
		}
		return nil
	})
}

// Nothing is begun for a request that has ended, before it is counted or after (H43).
func TestWhatHasEndedIsNotBegun(t *testing.T) {
	t.Parallel()
	g := newStalled(t)
	ctx, end := context.WithCancelCause(t.Context())
	begun := false
	work := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { begun = true })
	asked := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/configmaps", http.NoBody)
	bounds.Arriving{Turns: g.front.turns.Arriving, Beside: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			end(errors.New("whoever asked has gone"))
			next.ServeHTTP(w, r)
		})
	}}.Count(work).ServeHTTP(httptest.NewRecorder(), asked)
	require.Error(t, ctx.Err(), "it was counted")
	require.False(t, begun)
	require.Equal(t, http.StatusGatewayTimeout, g.come(ctx, "192.0.2.7:1").Code)
}
