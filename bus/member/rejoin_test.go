package member

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/tests/elsewhen"

	"github.com/stretchr/testify/require"
)

func TestWhenAnAgentTriesToConnectAgain(t *testing.T) {
	began := elsewhen.Now()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	told := bus.Reconnect{Wait: time.Second, Jitter: time.Second}
	for name, c := range map[string]struct {
		told    bus.Reconnect
		dials   []error // of which the first was when it began
		vain    int     // attempts before
		attempt int
		after   time.Duration
		want    bus.Reconnect
	}{
		"first after a long connection":       {dials: []error{nil}, attempt: 1, after: time.Hour, want: soon},
		"first after one that did not last":   {dials: []error{nil}, attempt: 1, after: time.Second, want: once},
		"first after two that did not last":   {dials: []error{nil}, vain: 1, attempt: 1, after: time.Second, want: late},
		"first after one that lasted again":   {dials: []error{nil}, vain: 3, attempt: 1, after: time.Hour, want: soon},
		"nothing listens":                     {dials: []error{nil, refused}, attempt: 2, after: time.Hour, want: soon},
		"nothing listens after a short one":   {dials: []error{nil, refused}, attempt: 2, after: time.Second, want: soon},
		"nothing listens for long":            {dials: []error{nil, refused}, attempt: soonFor + 1, after: time.Hour, want: late},
		"nobody answers":                      {dials: []error{nil, errors.New("i/o timeout")}, attempt: 2, after: time.Hour, want: once},
		"nobody answers again":                {dials: []error{nil, errors.New("i/o timeout")}, vain: 1, attempt: 3, after: time.Hour, want: late},
		"it was reached and did not let in":   {dials: []error{nil, refused, nil}, attempt: 3, after: time.Hour, want: once},
		"it did not let in again and again":   {dials: []error{nil, refused, nil}, vain: 4, attempt: 7, after: time.Hour, want: late},
		"nothing listens where it did not":    {dials: []error{nil, refused}, vain: 4, attempt: 7, after: time.Hour, want: soon},
		"nothing ever listened":               {dials: []error{refused}, attempt: 1, after: time.Second, want: soon},
		"told, whatever happened":             {told: told, dials: []error{nil, refused}, attempt: 2, after: time.Hour, want: told},
		"told, and it did not let in":         {told: told, dials: []error{nil}, attempt: 2, after: time.Hour, want: told},
		"let in at last, lost long afterward": {dials: []error{refused, nil}, attempt: 1, after: time.Hour, want: soon},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRejoin(c.told)
			for _, err := range c.dials {
				r.dialed(err, began)
			}
			r.vain = c.vain
			require.Equal(t, c.want, r.wait(c.attempt, began.Add(c.after)))
		})
	}
}

func TestAttemptsOfAFleetAreSpread(t *testing.T) {
	r := newRejoin(bus.Reconnect{})
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		delay := r.delay(1)
		least, most = min(least, delay), max(most, delay)
	}
	require.GreaterOrEqual(t, least, soon.Wait)
	require.LessOrEqual(t, most, soon.Wait+soon.Jitter)
	require.Greater(t, most-least, soon.Jitter*9/10)
}

// Who dials learns that nothing listens from a server that ended.
func TestADialThatIsRefusedIsKnown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := newRejoin(bus.Reconnect{})
	conn, err := r.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.False(t, r.refused)
	require.NoError(t, listener.Close())
	_, err = r.Dial("tcp", listener.Addr().String())
	require.Error(t, err)
	require.True(t, r.refused)
}
