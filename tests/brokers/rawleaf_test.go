package brokers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/subjects"
)

// rawLeaf speaks the protocol of leaf nodes over a connection of its own: no server at its end checks what it sends.
type rawLeaf struct {
	*testing.T
	conn net.Conn
	said *bufio.Reader
}

// rawLeaf links to a server with credentials, which takes them.
func (s *system) rawLeaf(t *testing.T, to, creds string) *rawLeaf {
	t.Helper()
	l, lines, closed := s.linked(t, to, creds)
	require.False(t, closed, "%q", lines)
	return l
}

// linked links to a server with credentials, and returns what the server says of it.
func (s *system) linked(t *testing.T, to, creds string) (l *rawLeaf, lines []string, closed bool) {
	t.Helper()
	conn, said, err := connectLeaf(t.Context(), s.links[to], creds)
	require.NoError(t, err)
	closes := time.AfterFunc(time.Minute, func() { _ = conn.Close() })
	t.Cleanup(func() { closes.Stop(); _ = conn.Close() })
	l = &rawLeaf{T: t, conn: conn, said: said}
	lines, closed = l.answered()
	return l, lines, closed
}

// connectLeaf shows credentials at an address for leaf nodes.
func connectLeaf(ctx context.Context, address, creds string) (conn net.Conn, said *bufio.Reader, err error) {
	return bustest.Wire(ctx, address, []byte(creds), map[string]any{"version": "2.15.2", "server_id": "RAW", "name": "raw"})
}

func (l *rawLeaf) send(format string, args ...any) {
	l.Helper()
	_, err := fmt.Fprintf(l.conn, format, args...)
	require.NoError(l, err)
}

// publish sends a message as one of another server's clients would.
func (l *rawLeaf) publish(subject, payload string) {
	l.Helper()
	l.send("LMSG %s %d\r\n%s\r\n", subject, len(payload), payload)
}

// answered asks the server to answer, and returns the lines that it sent before; and whether it closed the link instead.
func (l *rawLeaf) answered() (lines []string, closed bool) {
	l.Helper()
	if _, err := fmt.Fprint(l.conn, "PING\r\n"); err != nil {
		return nil, true
	}
	for {
		line, err := l.said.ReadString('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return lines, true
		}
		require.NoError(l, err, "%q came before", lines)
		if strings.HasPrefix(line, "PONG") {
			return lines, false
		}
		lines = append(lines, strings.TrimSpace(line))
	}
}

// sent asks for messages to what a subject matches, and returns what the server sends of one: nothing too where it closes the link.
func (l *rawLeaf) sent(wants string, from *nats.Conn, subject string) (lines []string) {
	l.Helper()
	l.send("LS+ %s\r\n", wants)
	if _, closed := l.answered(); closed {
		return nil
	}
	require.NoError(l, from.Publish(subject, []byte("its")))
	require.NoError(l, from.Flush())
	lines, _ = l.answered()
	return lines
}

// leafCreds are credentials of leaf node edge, for oslo and bergen.
func (s *system) leafCreds(t *testing.T) string {
	t.Helper()
	made := filepath.Join(t.TempDir(), "edge")
	_, err := server.MakeLeaf(s.accounts, made, server.Leaf{Name: "edge", URLs: []string{"nats://" + s.links["single"]}, Members: []string{"oslo", "bergen"}})
	require.NoError(t, err)
	creds, err := os.ReadFile(filepath.Join(made, "agents.creds"))
	require.NoError(t, err)
	return string(creds)
}

// Whoever links to a server with what a leaf node has, and keeps to no permission, stores nothing in the name of a member that is not theirs, and
// is sent nothing that is for one. The rest goes through.
func TestARawLeafNodeIsHeldToItsPermissions(t *testing.T) {
	s := newSystem(t, "single")
	s.hub("hub-1")
	s.admin()
	creds := s.leafCreds(t)
	f := subjects.Fleet{Name: fleetName}
	hub, unbound := s.client(s.url(), filepath.Join(s.accounts, "hub.creds"), ""), s.unbound(subjects.AccountAgents, s.url())
	heard := make(chan *nats.Msg, 64)
	_, err := hub.NC.ChanSubscribe(f.BucketSubject(subjects.Heartbeat, "*"), heard)
	require.NoError(t, err)
	require.NoError(t, hub.NC.Flush())
	for _, subject := range []string{f.BucketSubject(subjects.Heartbeat, "rome"), f.Command("oslo", "placement"), "$JS.API.STREAM.NAMES"} {
		l := s.rawLeaf(t, "single", creds)
		l.publish(subject, "leaf")
		lines, _ := l.answered()
		require.Contains(t, fmt.Sprint(lines), `Permissions Violation for Publish to "`+subject+`"`)
	}
	s.rawLeaf(t, "single", creds).publish(f.BucketSubject(subjects.Heartbeat, "oslo"), "leaf")
	m := <-heard
	require.Equal(t, f.BucketSubject(subjects.Heartbeat, "oslo"), m.Subject)
	require.Equal(t, "leaf", string(m.Data))
	require.Empty(t, heard)
	for _, subject := range []string{f.Command("rome", "placement"), subjects.Inbox("rome") + ".1"} {
		for _, wants := range []string{subject, "flotilla.>", "_INBOX.>", ">"} {
			require.Empty(t, s.rawLeaf(t, "single", creds).sent(wants, unbound, subject), "%s was asked for", wants)
		}
	}
	own := subjects.Inbox("oslo") + ".1"
	require.Equal(t, []string{"LMSG " + own + " 3", "its"}, s.rawLeaf(t, "single", creds).sent(own, unbound, own))
}

// Agents and people do not link up as leaf nodes do, where they would not be held to what clients are.
func TestNobodyButALeafNodeLinks(t *testing.T) {
	s := newSystem(t, "single")
	require.NoError(t, s.hub("hub-1").WaitLeading(bustest.Context(t)))
	_, person := s.person(s.admin(), "paula", s.url())
	for name, creds := range map[string]string{"agent": s.agentCreds(t, "oslo"), "person": person} {
		_, lines, closed := s.linked(t, "single", creds)
		require.True(t, closed, name)
		require.Contains(t, fmt.Sprint(lines), "Authorization Violation", name)
	}
}

// Of the links of one leaf node the oldest are cut.
func TestALeafNodeHasSoManyLinks(t *testing.T) {
	s := newSystem(t, "single")
	require.NoError(t, s.hub("hub-1").WaitLeading(bustest.Context(t)))
	s.admin()
	creds := s.leafCreds(t)
	first := s.rawLeaf(t, "single", creds)
	for range server.LeafConnections {
		s.rawLeaf(t, "single", creds)
	}
	bustest.Eventually(t, func() error {
		if _, closed := first.answered(); !closed {
			return errors.New("the oldest is not cut")
		}
		return nil
	})
}

// Others speak over the links of a leaf node, which stay when one agent behind it asks for what it may not.
func TestALeafNodeIsNotCutForOneOfItsAgents(t *testing.T) {
	s := newSystem(t, "single")
	require.NoError(t, s.hub("hub-1").WaitLeading(bustest.Context(t)))
	admin, creds := s.admin(), s.leafCreds(t)
	f := subjects.Fleet{Name: fleetName}
	for _, at := range []struct{ stream, subject, named string }{
		{f.Stream(subjects.Commands), f.CommandDelta("oslo", 0), "member/oslo"},
		{f.BucketStream(subjects.Content), f.BucketSubject(subjects.Content, strings.Repeat("0", 64)), "server/edge"},
	} {
		l := s.rawLeaf(t, "single", creds)
		for range 10 {
			l.publish(subjects.DirectGet(at.stream, at.subject)+" "+subjects.Inbox("oslo")+".1", "a body")
		}
		bustest.Eventually(t, func() error {
			if named := s.refused(admin); !slices.Contains(named, at.named) {
				return fmt.Errorf("%v are named", named)
			}
			return nil
		})
		lines, closed := l.answered()
		require.False(t, closed, "%q", lines)
	}
}
