package faults

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// inflict does to a fleet what a plan says, and returns when all of it is over.
func (f *fleet) inflict(t *testing.T, p plan, take *Recorder, since func() time.Duration) {
	t.Helper()
	var running sync.WaitGroup
	for _, s := range p {
		wait(t.Context(), s.At-since())
		running.Go(func() {
			if s.What == full {
				f.disk.Fill()
				wait(t.Context(), s.For)
				f.disk.Free()
				return
			}
			if v := f.victim(t, s.Whom); v != nil {
				v.mu.Lock()
				defer v.mu.Unlock()
				f.harm(t, v, s, take, since)
				return
			}
			proxy := f.clients
			if s.Whom == sideAgents {
				proxy = f.agents
			}
			disturb(t.Context(), proxy, s)
		})
	}
	running.Wait()
	f.heal()
}

// victim is a process by its name, nil where it names none.
func (f *fleet) victim(t testing.TB, name string) *victim {
	if name == leader {
		name = f.leader(t)
	}
	return f.processes[name]
}

// leader is the process that leads, or where nobody says so some hub.
func (f *fleet) leader(t testing.TB) string {
	client := f.connect(t, "plan")
	defer client.Close()
	var status api.FleetStatus
	_ = bus.Request(t.Context(), client, api.VerbStatus, struct{}{}, &status, bus.RequestOptions{Total: clientTry})
	for _, name := range []string{"hub-0", "hub-1"} {
		if v := f.processes[name]; status.Leader != "" && v.Says("hub="+status.Leader) == nil {
			return name
		}
	}
	return "hub-0"
}

// harm does something to a process.
func (f *fleet) harm(t testing.TB, v *victim, s step, take *Recorder, since func() time.Duration) {
	switch s.What {
	case kill:
		v.Kill()
		wait(t.Context(), s.For)
		v.Start(t)
	case stop:
		v.Stop(t)
		wait(t.Context(), s.For)
		v.Continue(t)
	case end:
		v.Terminate(s.For)
		v.Start(t)
	case older:
		v.Kill()
		restore := Restore{Copied: since()}
		copied := filepath.Join(t.TempDir(), "older")
		bustest.CopyFolder(t, copied, f.data())
		v.Start(t)
		wait(t.Context(), s.For)
		v.Kill()
		require.NoError(t, os.RemoveAll(f.data()))
		require.NoError(t, os.Rename(copied, f.data()))
		restore.Restored = since()
		take.Note(func(h *History) { h.Restores = append(h.Restores, restore) })
		v.Start(t)
		f.mend(t, "")
	case flip:
		f.flip(t, v, s, take, since)
	case tear:
		f.tear(t, v, s, take, since)
	}
}

// disturb does something to connections.
func disturb(ctx context.Context, proxy *bustest.Proxy, s step) {
	switch s.What {
	case cut:
		proxy.Cut()
	case delay:
		proxy.HoldReplies()
		wait(ctx, s.For)
		proxy.Release()
	case forget:
		proxy.HoldReplies()
		wait(ctx, s.For)
		proxy.Cut()
	case double:
		proxy.Double()
		wait(ctx, s.For)
		proxy.Release()
	}
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
