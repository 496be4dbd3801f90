package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// pager is a hub that keeps which pages of events it was asked for, and does something after each.
type pager struct {
	session.Hub
	asked []uint64
	after func(*api.EventsResponse)
}

func (p *pager) Call(ctx context.Context, verb string, request, response any) error {
	err := p.Hub.Call(ctx, verb, request, response)
	if verb == api.VerbEvents && err == nil {
		p.asked = append(p.asked, request.(*api.EventsRequest).Before)
		p.after(response.(*api.EventsResponse))
	}
	return err
}

// paged runs a command against a pager, and returns the exit code, what it printed, and what it said of a failure.
func (p *pager) paged(ctx context.Context, env session.Environment, args ...string) (code int, out, errs string) {
	var printed, said bytes.Buffer
	dial := env.Dial
	env.Out, env.Err = &printed, &said
	env.Dial = func(ctx context.Context, c session.Connection) (hub session.Hub, err error) {
		p.Hub, err = dial(ctx, c)
		return p, err
	}
	code = cli.Main(ctx, args, env)
	return code, printed.String(), said.String()
}

// inside is a connection that may do what the hub may.
func inside(t *testing.T, fleet *dev.Fleet) *bus.Conn {
	t.Helper()
	running := fleet.Hub.Server()
	c, err := bus.ConnectHub(bustest.Context(t), bus.Options{
		Fleet: "default", URL: running.URL(), Creds: running.HubCreds(), Log: zerolog.Nop(), Now: elsewhen.Now,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// floodedFleet has an event of anna behind more events of a flood than two answers look at.
func floodedFleet(t *testing.T) *dev.Fleet {
	t.Helper()
	fleet := startFleet(t)
	c := inside(t, fleet)
	bustest.Flood(t, c, 1, api.Audit{Object: "user/bert", Reason: "Added", By: "anna", Message: "bert may look"})
	bustest.Flood(t, c, 21_000, api.Audit{Object: "member/mallory", Reason: "Flaps", By: "reporter", Member: "mallory"})
	return fleet
}

// Behind a flood of events of a member lies one of a person. The command line goes back page by page until it has it, ends
// where a person interrupts it or a hub says nothing of older events, and prints one list whatever the pages were.
func TestEventsAreFoundBehindAFlood(t *testing.T) {
	fleet := floodedFleet(t)
	env := liveEnvironment(fleet)
	leave := func(*api.EventsResponse) {}
	old := func(r *api.EventsResponse) { r.Older = 0 }
	for name, test := range map[string]struct {
		args  string
		after func(*api.EventsResponse)
		asked int
		lines int
		said  string
	}{
		"of a person":    {"events --by anna", leave, 3, 2, ""},
		"as JSON":        {"events --by anna -o json", leave, 3, 1, ""},
		"many":           {"events member/mallory --limit 1300 -o json", leave, 3, 1300, ""},
		"few":            {"events -m mallory --limit 5 -o json", leave, 1, 5, ""},
		"of an object":   {"events user/bert", leave, 1, 2, ""},
		"of an old hub":  {"events --by anna", old, 1, 0, "no events found"},
		"of nobody":      {"events --by nobody", leave, 3, 0, "no events found"},
		"many of an old": {"events member/mallory --limit 1300 -o json", old, 1, 600, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pager{after: test.after}
			code, out, said := p.paged(t.Context(), env, strings.Fields(test.args)...)
			require.Equal(t, session.ExitDone, code, said)
			require.Equal(t, test.lines, strings.Count(out, "\n"))
			require.Contains(t, said, test.said)
			require.Len(t, p.asked, test.asked)
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		p := &pager{after: func(*api.EventsResponse) { interrupt() }}
		code, out, said := p.paged(ctx, env, "events", "--by", "anna")
		require.Equal(t, session.ExitPartial, code)
		require.Empty(t, out)
		require.Contains(t, said, "interrupted")
		require.Len(t, p.asked, 1)
	})
	t.Run("watched", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		p := &pager{}
		p.after = func(*api.EventsResponse) {
			switch len(p.asked) {
			case 3: // all that is kept was looked at
				admitAll(t, fleet)
			case 4:
				applyAll(t, fleet, everywhere)
			case 5:
				interrupt()
			}
		}
		code, _, said := p.paged(ctx, env, "events", "-w", "--by", "anna")
		require.Equal(t, session.ExitDone, code, said)
		require.Len(t, p.asked, 5)
		require.Equal(t, []uint64{0, 0}, p.asked[3:], "after a change the newest page alone is asked for")
	})
}

// What a person did is shown though the audit stream has lost it.
func TestWhatPeopleDidOutlivesTheAuditStream(t *testing.T) {
	fleet := startFleet(t)
	applyAll(t, fleet, everywhere)
	c := inside(t, fleet)
	stream := func(short string) jetstream.Stream {
		found, err := c.JS.Stream(bustest.Context(t), c.Fleet.Stream(short))
		require.NoError(t, err)
		return found
	}
	env := liveEnvironment(fleet)
	shown := func() string {
		p := &pager{after: func(*api.EventsResponse) {}}
		code, out, said := p.paged(t.Context(), env, "events", "placement/shop", "--by", "admin", "-o", "json")
		require.Equal(t, session.ExitDone, code, said)
		return out
	}
	bustest.Eventually(t, func() error {
		_, err := stream(subjects.Acts).GetLastMsgForSubject(bustest.Context(t), c.Fleet.Act("placement", "shop"))
		return err
	})
	did := shown()
	require.Contains(t, did, `"reason":"Created"`)
	require.NoError(t, stream(subjects.Audit).Purge(bustest.Context(t)))
	require.Equal(t, did, shown())
}
