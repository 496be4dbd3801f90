package server

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// A server that is heard of is looked after at once and a moment later told anew: when it comes, and when it was out of
// reach for a while, though it did not start again.
func TestServersThatWereOutOfReachAreLookedAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{known: map[string]time.Time{}, wake: make(chan bool, 1)}
		wakes := func() (told []bool) {
			synctest.Wait()
			for {
				select {
				case all := <-k.wake:
					told = append(told, all)
				case <-time.After(2 * keepAgain):
					return told
				}
			}
		}
		n1, n2 := strings.Replace(subjects.ServerHeard, "*", "N1", 1), strings.Replace(subjects.ServerHeard, "*", "N2", 1)
		for i, row := range []struct {
			silence time.Duration
			subject string
			woken   bool
		}{
			{0, n1, true},
			{10 * time.Second, n1, false},
			{0, n2, true},
			{10 * time.Second, n2, false},
			{9 * time.Second, n1, true},
			{10 * time.Second, n1, false},
			{time.Hour, n2, true},
		} {
			<-time.After(row.silence)
			k.heard(&nats.Msg{Subject: row.subject})
			var want []bool
			if row.woken {
				want = []bool{false, true}
			}
			require.Equal(t, want, wakes(), "%d", i)
		}
	})
}
