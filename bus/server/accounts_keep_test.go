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
		k := &keeper{accounts: &Accounts{roster: newRoster()}, known: map[string]time.Time{}, wake: make(chan bool, 1)}
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

// A server is there while it says so, once by its name, however often it started.
func TestServersThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{accounts: &Accounts{roster: newRoster()}, known: map[string]time.Time{}, wake: make(chan bool, 1)}
		says := func(id, text string) {
			k.heard(&nats.Msg{Subject: strings.Replace(subjects.ServerHeard, "*", id, 1), Data: []byte(text)})
		}
		require.Empty(t, k.accounts.Servers())
		says("ID1", `{"server":{"name":"n1","id":"ID1","ver":"2.10.3","jetstream":true},"statsz":{}}`)
		says("ID2", `{"server":{"name":"n2","id":"ID2","ver":"2.15.2"}}`)
		says("ID3", `{"server":{"id":"ID3"}}`)
		says("ID4", `{"server":7}`)
		shown := func() (out []string) {
			for _, met := range k.accounts.Servers() {
				out = append(out, met.Name+" "+met.Version)
			}
			return out
		}
		require.Equal(t, []string{"n1 2.10.3", "n2 2.15.2"}, shown())
		<-time.After(metFor)
		says("ID5", `{"server":{"name":"n1","id":"ID5","ver":"2.15.2"}}`)
		require.Equal(t, []string{"n1 2.15.2", "n2 2.15.2"}, shown())
		<-time.After(time.Second)
		require.Equal(t, []string{"n1 2.15.2"}, shown())
	})
}
