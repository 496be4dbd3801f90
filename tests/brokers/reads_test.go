package brokers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/subjects"
)

// floods asks over links of a leaf node for what lies at a subject, as fast as it can, until the test ends. One link takes no answer, the other
// throws them away; each is made anew when it is cut. Links counts them.
func (s *system) floods(t *testing.T, creds, read string) (stop func(), links *atomic.Int64) {
	t.Helper()
	links = &atomic.Int64{}
	reply := subjects.Inbox("oslo") + ".x"
	many := []byte(strings.Repeat(fmt.Sprintf("LMSG %s %s 0\r\n\r\n", read, reply), 100))
	var stops []func()
	for _, listens := range []bool{true, false} {
		stops = append(stops, bustest.InBackground(t, func(ctx context.Context) {
			for ctx.Err() == nil {
				conn, said, err := connectLeaf(ctx, s.links["single"], creds)
				if err != nil {
					continue
				}
				links.Add(1)
				closes := context.AfterFunc(ctx, func() { _ = conn.Close() })
				if listens {
					go func() { _, _ = io.Copy(io.Discard, said) }()
				}
				for _, err = fmt.Fprintf(conn, "LS+ %s\r\n", reply); err == nil; {
					_, err = conn.Write(many)
				}
				closes()
				_ = conn.Close()
			}
		}))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}, links
}

// A leaf node that asks for content without end is named, and cut each time that it links anew. Once it ends, agents that connect elsewhere read on.
func TestALeafNodeThatReadsWithoutEndIsCut(t *testing.T) {
	s := newSystem(t, "single")
	require.NoError(t, s.hub("hub-1").WaitLeading(bustest.Context(t)))
	admin := s.admin()
	rome, err := s.reach(s.url(), "", s.agentCreds(t, "rome")).Connect("rome", nats.CustomInboxPrefix(subjects.Inbox("rome")))
	require.NoError(t, err)
	t.Cleanup(rome.Close)
	f := subjects.Fleet{Name: fleetName}
	stop, links := s.floods(t, s.leafCreds(t), s.largeContent())
	bustest.Eventually(t, func() error {
		if refused := s.refused(admin); len(refused) == 0 || links.Load() < 10 {
			return fmt.Errorf("over %d links, reads of %v are refused", links.Load(), refused)
		}
		return nil
	})
	require.Equal(t, []string{"server/edge"}, s.refused(admin))
	stop()
	elsewhere := func() error {
		_, err := rome.Direct(bustest.Context(t), f.Stream(subjects.Commands), f.CommandDelta("rome", 0))
		return err
	}
	bustest.Eventually(t, func() error {
		if err := elsewhere(); !errors.Is(err, bus.ErrNotFound) {
			return err
		}
		return nil
	})
	for i := range 100 {
		require.ErrorIs(t, elsewhere(), bus.ErrNotFound, i)
	}
}

// A leaf node that takes less than it asks for is cut once so much waits for it, before that fills the memory of the server.
func TestALeafNodeThatTakesTooLittleIsCut(t *testing.T) {
	s := newSystem(t, "single")
	require.NoError(t, s.hub("hub-1").WaitLeading(bustest.Context(t)))
	admin, read, reply := s.admin(), s.largeContent(), subjects.Inbox("oslo")+".x"
	l := s.rawLeaf(t, "single", s.leafCreds(t))
	l.send("LS+ %s\r\n", reply)
	stop := bustest.InBackground(t, func(ctx context.Context) {
		for loop.Pause(ctx, 10*time.Millisecond) {
			if _, err := fmt.Fprintf(l.conn, "LMSG %s %s 0\r\n\r\n", read, reply); err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, l.said, 10<<10); err != nil { // a megabyte a second
				return
			}
		}
	})
	defer stop()
	bustest.Eventually(t, func() error {
		if named := s.named(admin, health.ReasonUntaken); !slices.Equal(named, []string{"server/edge"}) {
			return fmt.Errorf("%v are named", named)
		}
		return nil
	})
}

// On servers of one's own, too, hubs answer what agents read, and the connections of an agent that asks for more than may wait are cut; one
// that asks for little reads on.
func TestAnAgentThatReadsWithoutEndIsCutOnServersOfOnesOwn(t *testing.T) {
	s := newSystem(t, "single")
	h := s.hub("hub-1")
	require.NoError(t, h.WaitLeading(bustest.Context(t)))
	s.admin()
	f, read := subjects.Fleet{Name: fleetName}, s.largeContent()
	oslo, mallory := s.reader(t, "oslo"), s.reader(t, "mallory")
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
	for i := range 100 {
		found, err := oslo.RequestWithContext(bustest.Context(t), subjects.DirectGet(f.Stream(subjects.Commands), f.CommandDelta("oslo", i)), nil)
		require.NoError(t, err)
		require.Equal(t, "404", found.Header.Get("Status"), fmt.Sprint(i))
	}
	require.False(t, oslo.IsClosed())
}

// refused are those whose reads are refused, as the screen of the fleet says.
func (s *system) refused(admin *bus.Conn) (objects []string) {
	s.Helper()
	return s.named(admin, health.ReasonReadsRefused)
}

// named are those that have a problem for a reason, as the screen of the fleet says.
func (s *system) named(admin *bus.Conn, reason string) (objects []string) {
	s.Helper()
	for _, p := range ask[api.FleetStatus](s.TB, admin, api.VerbStatus, nil).Problems {
		if p.Reason == reason {
			objects = append(objects, p.Object)
		}
	}
	return objects
}

// largeContent stores 512 KiB of content, and returns where it is read.
func (s *system) largeContent() (read string) {
	s.Helper()
	content := bustest.StoreContent(s, s.client(s.url(), filepath.Join(s.accounts, "hub.creds"), ""), 512<<10)
	return subjects.DirectGet(subjects.Fleet{Name: fleetName}.BucketStream(subjects.Content), content)
}

// reader connects as the agent of a member, once.
func (s *system) reader(t *testing.T, member string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.url(), nats.UserCredentialBytes([]byte(s.agentCreds(t, member))), nats.NoReconnect(), nats.CustomInboxPrefix(subjects.Inbox(member)))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}
