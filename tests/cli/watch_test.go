package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// screen is standard output that can be read while a command still writes it.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) shows(text string) func() error {
	return func() error {
		if !strings.Contains(s.String(), text) {
			return fmt.Errorf("no %q in:\n%s", text, s.String())
		}
		return nil
	}
}

// TestWatchShowsChangesAndEndsWhenInterrupted watches namespaces while some are made and one is labelled.
// The head of the table stands once, and anew where a row is wider; a row comes for every change, and an
// interrupt ends it with 0.
func TestWatchShowsChangesAndEndsWhenInterrupted(t *testing.T) {
	env := liveEnvironment(startFleet(t))
	run := func(stdin string, args ...string) {
		t.Helper()
		e := env
		var out bytes.Buffer
		e.In, e.Out, e.Err = strings.NewReader(stdin), &out, &out
		require.Equal(t, session.ExitDone, cli.Main(t.Context(), args, e), out.String())
	}
	run("apiVersion: v1\nkind: Namespace\nmetadata: {name: first}\n", "apply", "-f", "-")

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, ended := &screen{}, make(chan int, 1)
	watching := env
	watching.Out, watching.Err = out, out
	go func() { ended <- cli.Main(ctx, []string{"get", "ns", "-w", "--show-labels"}, watching) }()
	bustest.Eventually(t, out.shows("first"))
	run("apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n", "apply", "-f", "-")
	bustest.Eventually(t, out.shows("other"))
	run("", "label", "ns/first", "team=web")
	bustest.Eventually(t, out.shows("team=web"))
	require.Equal(t, 1, strings.Count(out.String(), "NAME"), out.String())
	run("apiVersion: v1\nkind: Namespace\nmetadata: {name: longer-than-those}\n", "apply", "-f", "-")
	bustest.Eventually(t, out.shows("longer-than-those"))
	interrupt()
	require.Equal(t, session.ExitDone, <-ended)
	require.Equal(t, 2, strings.Count(out.String(), "NAME"), out.String())
	require.Equal(t, 2, strings.Count(out.String(), "first"), "once as it was found, once when it changed:\n%s", out.String())
}

// held is a hub that lets no watch through until it is told to, and counts what else it is asked.
type held struct {
	session.Hub
	watches chan chan struct{}
	mu      sync.Mutex
	asked   map[string]int
}

func (h *held) Call(ctx context.Context, verb string, request, response any) error {
	if verb == api.VerbWatch && request.(*api.WatchRequest).After != "" {
		through := make(chan struct{})
		select {
		case h.watches <- through:
			<-through
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.mu.Lock()
	h.asked[verb]++
	h.mu.Unlock()
	return h.Hub.Call(ctx, verb, request, response)
}

func (h *held) count(verb string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[verb]
}

// Nothing is looked at while nothing changes: every command with -w asks the hub to say when.
func TestWatchingAsksNothingWhileNothingChanges(t *testing.T) {
	fleet := startFleet(t)
	env := liveEnvironment(fleet)
	dial := env.Dial
	for _, test := range []struct{ args, verb, shows, change string }{
		{"get members -w", api.VerbList, "berlin", "member admit berlin"},
		{"get ns -w", api.VerbList, "", "apply -f -"},
		{"events -w", api.VerbEvents, "Created", "member admit oslo"},
		{"get nodes -w", api.VerbNodes, "berlin", "member admit tampa"},
	} {
		h := &held{watches: make(chan chan struct{}), asked: map[string]int{}}
		watching, out := env, &screen{}
		watching.Out, watching.Err = out, out
		watching.Dial = func(ctx context.Context, c session.Connection) (hub session.Hub, err error) {
			h.Hub, err = dial(ctx, c)
			return h, err
		}
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan int, 1)
		go func() { ended <- cli.Main(ctx, strings.Fields(test.args), watching) }()
		through := <-h.watches
		require.NoError(t, out.shows(test.shows)(), test.args)
		looked := h.count(test.verb)
		require.Equal(t, 1, looked, test.args)
		e := env
		var said bytes.Buffer
		e.In, e.Out, e.Err = strings.NewReader("apiVersion: v1\nkind: Namespace\nmetadata: {name: first}\n"), &said, &said
		require.Equal(t, session.ExitDone, cli.Main(t.Context(), strings.Fields(test.change), e), said.String())
		require.Equal(t, 1, h.count(test.verb), test.args)
		close(through)
		through = <-h.watches
		require.Equal(t, 2, h.count(test.verb), test.args)
		close(through)
		interrupt()
		require.Equal(t, session.ExitDone, <-ended)
	}
}

// TestRawShowsTheRecordsOfAnObject reads what the hub keeps, by object and by key.
func TestRawShowsTheRecordsOfAnObject(t *testing.T) {
	env := liveEnvironment(startFleet(t))
	raw := func(want int, args ...string) map[string]json.RawMessage {
		t.Helper()
		e := env
		var out, errs bytes.Buffer
		e.Out, e.Err = &out, &errs
		require.Equal(t, want, cli.Main(t.Context(), append([]string{"get", "--raw"}, args...), e), errs.String())
		records := map[string]json.RawMessage{}
		if want == session.ExitDone {
			require.NoError(t, json.Unmarshal(out.Bytes(), &records))
		}
		return records
	}
	records := raw(session.ExitDone, "member/berlin")
	var heartbeat api.Heartbeat
	require.NoError(t, json.Unmarshal(records["heartbeat/berlin"], &heartbeat))
	require.Equal(t, "berlin", heartbeat.Member)
	require.Contains(t, records, "state/member.berlin")
	require.NotContains(t, records, "state/spec.member.berlin", "nobody admitted it")

	require.Contains(t, raw(session.ExitDone, "term"), "state/term")
	require.Contains(t, raw(session.ExitDone, "lease/hub"), "lease/hub")
	raw(session.ExitDifferent, "schedule.nothing")
	raw(session.ExitUsage, "members")
}
