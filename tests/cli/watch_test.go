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
		require.Equal(t, cli.ExitDone, cli.Main(t.Context(), args, e), out.String())
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
	require.Equal(t, cli.ExitDone, <-ended)
	require.Equal(t, 2, strings.Count(out.String(), "NAME"), out.String())
	require.Equal(t, 2, strings.Count(out.String(), "first"), "once as it was found, once when it changed:\n%s", out.String())
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
		if want == cli.ExitDone {
			require.NoError(t, json.Unmarshal(out.Bytes(), &records))
		}
		return records
	}
	records := raw(cli.ExitDone, "member/berlin")
	var heartbeat api.Heartbeat
	require.NoError(t, json.Unmarshal(records["heartbeat/berlin"], &heartbeat))
	require.Equal(t, "berlin", heartbeat.Member)
	require.Contains(t, records, "state/member.berlin")
	require.NotContains(t, records, "state/spec.member.berlin", "nobody admitted it")

	require.Contains(t, raw(cli.ExitDone, "term"), "state/term")
	require.Contains(t, raw(cli.ExitDone, "lease/hub"), "lease/hub")
	raw(cli.ExitDifferent, "schedule.nothing")
	raw(cli.ExitUsage, "members")
}
