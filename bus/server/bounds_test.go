package server_test

import (
	"errors"
	"fmt"
	"testing"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// held are connections of one user that nobody makes again; each says when a subscription of it was refused.
type held struct {
	conns   []*nats.Conn
	refused chan error
}

func hold(t *testing.T, url, inbox string, creds []byte, count int) *held {
	t.Helper()
	h := &held{refused: make(chan error, 1024)}
	for range count {
		nc, err := nats.Connect(url, nats.UserCredentialBytes(creds), nats.CustomInboxPrefix(inbox), nats.NoReconnect(),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { h.refused <- err }))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		h.conns = append(h.conns, nc)
	}
	return h
}

// open is how many of them are open.
func (h *held) open() (open int) {
	for _, nc := range h.conns {
		if !nc.IsClosed() {
			open++
		}
	}
	return open
}

// stay waits until so many are open, and requires that they are the newest.
func (h *held) stay(t *testing.T, want int) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if open := h.open(); open != want {
			return fmt.Errorf("%d connections are open, not %d", open, want)
		}
		return nil
	})
	for _, nc := range h.conns[len(h.conns)-want:] {
		require.NoError(t, nc.Flush(), "the newest stay")
	}
}

// A server takes so many connections, whoever's they are, and says who holds most. Those that have not said whose they are make room.
func TestAServerTakesSoManyConnections(t *testing.T) {
	s := bustest.Start(t, func(o *server.Options) { o.MaxConnections = 16 })
	hold(t, s.URL(), subjects.Inbox("oslo"), bustest.AgentCreds(t, s.Server, "oslo"), 2)
	require.Empty(t, s.Crowds())
	silent := bustest.Silent(t, s.Address(), 32)
	bustest.Eventually(t, func() error {
		crowds := s.Crowds()
		if len(crowds) != 1 || crowds[0].Unsaid < 10 {
			return fmt.Errorf("found %+v", crowds)
		}
		require.Equal(t, 16, crowds[0].Most)
		require.Equal(t, server.Holder{Account: subjects.AccountAgents, Name: "oslo", Open: 2}, crowds[0].First)
		return nil
	})
	bustest.Eventually(t, func() error {
		s.Shed()
		if len(s.Crowds()) > 0 {
			return errors.New("the server is full yet")
		}
		return nil
	})
	silent()
}
