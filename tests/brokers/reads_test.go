package brokers

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/subjects"
)

// On servers of one's own, too, hubs answer what agents read, and the connections of an agent that asks for more than may wait are cut; one
// that asks for little reads on.
func TestAnAgentThatReadsWithoutEndIsCutOnServersOfOnesOwn(t *testing.T) {
	s := newSystem(t, "single")
	h := s.hub("hub-1")
	require.NoError(t, h.WaitLeading(bustest.Context(t)))
	s.admin()
	hub := s.client(s.url(), filepath.Join(s.accounts, "hub.creds"), "")
	f := subjects.Fleet{Name: fleetName}
	content := f.BucketSubject(subjects.Content, strings.Repeat("0", 64))
	_, err := hub.JS.Publish(bustest.Context(t), content, bytes.Repeat([]byte("x"), 512<<10))
	require.NoError(t, err)
	read := subjects.DirectGet(f.BucketStream(subjects.Content), content)

	mallory, err := nats.Connect(s.url(), nats.UserCredentialBytes([]byte(s.agentCreds(t, "mallory"))), nats.NoReconnect(), nats.CustomInboxPrefix(subjects.Inbox("mallory")))
	require.NoError(t, err)
	t.Cleanup(mallory.Close)
	bustest.Eventually(t, func() error {
		for range 200 {
			if err := mallory.PublishRequest(read, subjects.Inbox("mallory")+".x", nil); err != nil {
				return nil //nolint:nilerr // it was cut
			}
		}
		if !mallory.IsClosed() {
			return errors.New("mallory goes on to read")
		}
		return nil
	})
	oslo, err := nats.Connect(s.url(), nats.UserCredentialBytes([]byte(s.agentCreds(t, "oslo"))), nats.CustomInboxPrefix(subjects.Inbox("oslo")))
	require.NoError(t, err)
	t.Cleanup(oslo.Close)
	for i := range 100 {
		found, err := oslo.RequestWithContext(bustest.Context(t), subjects.DirectGet(f.Stream(subjects.Commands), f.CommandDelta("oslo", i)), nil)
		require.NoError(t, err)
		require.Equal(t, "404", found.Header.Get("Status"), fmt.Sprint(i))
	}
	require.False(t, oslo.IsClosed())
}
