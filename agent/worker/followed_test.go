package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/core/api"
)

// An agent whose data directory is a copy from before writes nothing that is older than what the member follows: with the hub away it
// waits, and with the hub there it asks first.
func TestAnOlderDiskIsNoticed(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	dir, before := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	extra := "{apiVersion: v1, kind: Secret, metadata: {name: extra, namespace: default}}"
	back := "{apiVersion: v1, kind: Secret, metadata: {name: back, namespace: default}}"
	away := h.entry("back", 2, back)
	away.Withdrawn = true
	stop := run(t, newWorker(t, h, m, dir))
	h.command(h.entry("extra", 1, extra), h.entry("web", 1, shop, config), h.entry("back", 1, back))
	for _, placement := range []string{"extra", "web", "back"} {
		h.expect(placement, func(r api.PlacementResult) bool { return r.Available == yes })
	}
	h.command(h.entry("extra", 1, extra), h.entry("web", 1, shop, config), away)
	h.expect("back", func(r api.PlacementResult) bool { return r.Withdrawn })
	stop()
	copyFolder(t, dir, before)
	stop = run(t, newWorker(t, h, m, dir))
	gone := h.entry("extra", 2, extra)
	gone.Withdrawn = true
	h.command(gone, h.entry("web", 2, shop, other), h.entry("back", 3, back))
	h.expect("extra", func(r api.PlacementResult) bool { return r.Withdrawn })
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 && r.Available == yes })
	h.expect("back", func(r api.PlacementResult) bool { return r.Generation == 3 && r.Available == yes })
	stop()
	written := history(m)

	alone := bustest.Alone(t, "berlin")
	w, err := New(Options{Member: "berlin", Hub: alone, Target: m, Data: before, Log: zerolog.Nop()})
	require.NoError(t, err)
	stop = run(t, w)
	bustest.Eventually(t, func() error {
		for _, placement := range []string{"extra", "web", "back"} {
			if r, _ := w.ledger.of(placement); !strings.Contains(r.AppliedMessage+r.AvailableMessage, "nothing is written before the hub has said") {
				return fmt.Errorf("%s is %+v", placement, r)
			}
		}
		return nil
	})
	require.Contains(t, w.Trouble(), "the member follows command 1.1.3, and the agent knows 1.1.2")
	require.Equal(t, uint64(3), w.Holds().Generation, "the hub is to go beyond what the member follows")
	stop()
	require.Equal(t, written, history(m))

	w = newWorker(t, h, m, before)
	run(t, w)
	bustest.Eventually(t, func() error {
		if w.index.order().Generation != 3 || w.Trouble() != "" {
			return errors.New(w.index.order().String() + w.Trouble())
		}
		return nil
	})
	h.command(h.entry("web", 4, shop, config), h.entry("back", 3, back))
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 4 && r.Available == yes })
	require.Equal(t, written, history(m)[:len(written)])
	for _, line := range history(m)[len(written):] {
		require.Contains(t, line, "generation 4")
	}
}

// copyFolder copies files with their modes.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	require.NoError(t, filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chmod(path, 0o600)
	}))
}

// The member remembers the newest command that is acted on. A later one that it remembers stops the agent, and says so in its heartbeat,
// until the hub has given that or the member forgot it.
func TestAMemberRemembersTheCommandThatIsActedOn(t *testing.T) {
	m := newMember(t, 0)
	o := &memberOrder{}
	order := func(generation uint64) api.Order { return api.Order{Epoch: 1, Term: 1, Generation: generation} }
	for _, step := range []struct {
		given, newest uint64
		older         bool
	}{
		{given: 1, newest: 1},
		{given: 2, newest: 2},
		{given: 1, newest: 2, older: true},
		{given: 2, newest: 2},
	} {
		_, err := o.follow(t.Context(), m, order(step.given))
		var older *olderError
		require.Equal(t, step.older, errors.As(err, &older), "%+v", step)
		require.Equal(t, order(step.newest), o.newest(order(step.given)), "%+v", step)
		require.Equal(t, step.older, o.trouble(order(step.given)) != nil, "%+v", step)
	}

	_, err := m.Follow(t.Context(), order(9)) // another agent
	require.NoError(t, err)
	for _, first := range []bool{true, false} {
		begins, err := o.follow(t.Context(), m, order(2))
		require.Error(t, err)
		require.Equal(t, first, begins)
	}
	require.ErrorContains(t, o.trouble(order(2)), "kubectl -n flotilla-system delete configmap member")
	require.NoError(t, o.trouble(order(9)))
}

// What a member that cannot be asked says is in the heartbeat until it can be.
func TestAMemberThatCannotRemember(t *testing.T) {
	o := &memberOrder{}
	_, err := o.follow(t.Context(), failing{newMember(t, 0)}, api.Order{Epoch: 1})
	require.ErrorContains(t, err, "the mark is damaged")
	require.ErrorContains(t, o.trouble(api.Order{Epoch: 1}), "the mark is damaged")
	require.NoError(t, o.trouble(api.Order{Epoch: 2}), "of what was wanted before nothing is left to be written")
	_, err = o.follow(t.Context(), newMember(t, 0), api.Order{Epoch: 1})
	require.NoError(t, err)
	require.NoError(t, o.trouble(api.Order{Epoch: 1}))
}

// failing is a member that remembers nothing.
type failing struct{ Objects }

func (failing) Follow(context.Context, api.Order) (api.Order, error) {
	return api.Order{}, errors.New("the mark is damaged")
}

// What a command that writes nothing said is remembered too: an older disk would write what that took back.
func TestACommandThatWritesNothingIsRemembered(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	run(t, newWorker(t, h, m, t.TempDir()))
	h.placed()
	report := h.entry("web", 2, shop, config)
	report.Apply = &api.ApplyStrategy{Type: api.ApplyReportDiff}
	h.command(report)
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 })
	remembered := func(generation uint64) {
		newest, err := m.Follow(t.Context(), api.Order{})
		require.NoError(t, err)
		require.Equal(t, generation, newest.Generation)
	}
	remembered(2)
	none := h.entry("none", 1, shop)
	none.Withdrawn = true
	h.command(report, none)
	h.expect("none", func(r api.PlacementResult) bool { return r.Withdrawn })
	remembered(3)
}

// What was looked at while a newer command came is not written.
func TestALookThatANewerCommandOvertookWritesNothing(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	w := newWorker(t, h, m, t.TempDir())
	run(t, w)
	h.placed()
	entries, order := w.index.at("web")
	h.command(h.entry("web", 2, shop, other))
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 && r.Available == yes })
	written := history(m)
	_, err := w.entry(t.Context(), entries[0], order)
	require.ErrorIs(t, err, errSuperseded)
	require.Equal(t, written, history(m))
	require.Empty(t, w.Trouble())
}

// While another agent speaks for the member this one writes nothing, and says so.
func TestTwinsWriteNothing(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	agents := []*member.Conn{h.server.Agent(t, "berlin"), h.server.Agent(t, "berlin")}
	beat := func(of int) {
		require.NoError(t, agents[of].PutHeartbeat(bustest.Context(t), api.Heartbeat{Healthy: true}))
	}
	for range 3 {
		beat(0)
		beat(1)
	}
	require.Error(t, agents[0].Twin())
	w, err := New(Options{Member: "berlin", Hub: agents[0], Target: m, Data: t.TempDir(), Log: zerolog.Nop()})
	require.NoError(t, err)
	run(t, w)
	h.command(h.entry("web", 1, shop, config))
	h.expect("web", func(r api.PlacementResult) bool {
		return strings.Contains(r.AppliedMessage, "another agent proves itself")
	})
	require.Empty(t, history(m))
	for range 4 {
		beat(0)
	}
	h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
}
