package notifier

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/configs"
)

// sending is a sender as a function.
type sending func() error

func (s sending) send(context.Context, configs.EventView) error { return s() }
func (s sending) close()                                        {}

// What is not taken is tried again after a second, then after twice as long each time, up to five minutes, until it
// is older than retryFor; three times at least.
func TestPausesBetweenTries(t *testing.T) {
	for _, c := range []struct {
		name     string
		retryFor time.Duration
		pauses   []time.Duration // the last is repeated
		tries    int
	}{
		{"an hour", time.Hour, []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300}, 21},
		{"nothing", time.Second, []time.Duration{1, 2}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tries []time.Time
				d := delivery{
					log:      zerolog.Nop(),
					notifier: &Notifier{store: &store.Store{Conn: &bus.Conn{}}, options: Options{FirstPause: firstPause}},
					channel: &Channel{retryFor: c.retryFor, sender: sending(func() error {
						tries = append(tries, time.Now()) //nolint:forbidigo // the clock of the bubble
						return errors.New("not now")
					})},
				}
				require.EqualError(t, d.deliver(t.Context(), &streams.AuditEvent{Stored: d.notifier.store.Now()}), "not now")
				require.Len(t, tries, c.tries)
				for i := range tries[1:] {
					require.Equal(t, c.pauses[min(i, len(c.pauses)-1)]*time.Second, tries[i+1].Sub(tries[i]), i)
				}
			})
		})
	}
}

// Only what judges the event itself is believed at once.
func TestAnswersThatAreFinal(t *testing.T) {
	status := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(receiver.Close)
	c := channels(t, hook(receiver.URL))
	t.Cleanup(c[0].sender.close)
	for status = 200; status < 600; status++ {
		err := c[0].sender.send(t.Context(), configs.EventView{})
		final := status == 400 || status == 413 || status == 415 || status == 422
		require.Equal(t, status >= 300, err != nil, status)
		require.Equal(t, final, errors.Is(err, errRefused), status)
	}
}

// A receiver that does not answer is given up after the timeout of one try.
func TestAReceiverThatHangs(t *testing.T) {
	ended := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	t.Cleanup(func() {
		close(ended)
		receiver.Close()
	})
	n := hook(receiver.URL)
	n.Webhook.Timeout = configs.Duration(50 * time.Millisecond)
	c := channels(t, n)
	t.Cleanup(c[0].sender.close)
	require.ErrorIs(t, c[0].sender.send(bustest.Context(t), configs.EventView{}), context.DeadlineExceeded)
}

// What is in the headers is for the host of the URL alone, wherever that points.
func TestRedirectionsAreNotFollowed(t *testing.T) {
	elsewhere := newReceiver(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		receiver := httptest.NewServer(http.RedirectHandler(elsewhere.URL, status))
		c := channels(t, hook(receiver.URL))
		require.ErrorContains(t, c[0].sender.send(t.Context(), configs.EventView{}), http.StatusText(status))
		c[0].sender.close()
		receiver.Close()
	}
	require.Empty(t, elsewhere.bodies())
}
