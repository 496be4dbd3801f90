package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// reader looks at everything, again and again.
type reader struct {
	conn  *bus.Conn
	take  *Recorder
	since func() time.Duration
}

func (r *reader) work(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		app := appName(n / 4 % apps)
		var status api.FleetStatus
		switch n % 4 {
		case 0:
			_, _, _ = r.read(ctx, configMapOf(app))
		case 1:
			_, _, _ = r.read(ctx, deploymentOf(app))
		case 2:
			_, _, _ = r.read(ctx, placementOf(app))
		case 3:
			began := r.since()
			if bus.Request(ctx, r.conn, api.VerbStatus, struct{}{}, &status, bus.RequestOptions{Try: clientTry, Total: clientTotal}) == nil {
				reign := Reign{Span{began, r.since()}, status.Leader, status.Term}
				r.take.Note(func(h *History) { h.Reigns = append(h.Reigns, reign) })
			}
		}
	}
}

// object is what readers look at.
type object struct {
	Metadata struct {
		UID             string
		Generation      int64
		ResourceVersion string
		Annotations     map[string]string
	}
	Spec struct {
		Policy struct{ NumberOfClusters int }
	}
	Status struct {
		Counts struct{ Picked, Current, Available, Failed int }
	}
}

// read reads an object and takes down what it was told; errors say that it was told nothing.
func (r *reader) read(ctx context.Context, ref api.ObjectRef) (found object, there bool, err error) {
	began := r.since()
	err = bus.Request(ctx, r.conn, api.VerbGet, api.GetRequest{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}, &found,
		bus.RequestOptions{Try: clientTry, Total: clientTotal})
	read := Read{Span: Span{began, r.since()}, State: State{Object: ref.String()}}
	failure := (*api.Failure)(nil)
	switch {
	case errors.As(err, &failure) && failure.Code == api.CodeNotFound:
		read.Absent = true
	case err != nil:
		return found, false, err
	default:
		m := found.Metadata
		read.Request, read.UID, read.Generation, read.Version = m.Annotations[mark], m.UID, m.Generation, versionOf(m.ResourceVersion)
	}
	r.take.Note(func(h *History) { h.Reads = append(h.Reads, read) })
	return found, !read.Absent, nil
}

// saysOf is what the fleet says of placements, for whoever wants to know why one does not settle.
func (r *reader) saysOf(ctx context.Context) string {
	var text strings.Builder
	for n := range apps {
		var found struct{ Status json.RawMessage }
		ref := placementOf(appName(n))
		err := bus.Request(ctx, r.conn, api.VerbGet, api.GetRequest{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name}, &found,
			bus.RequestOptions{Try: clientTry, Total: clientTotal})
		fmt.Fprintf(&text, "\n%s: %s %v", appName(n), found.Status, err)
	}
	return text.String()
}

// watcher looks at what a member holds, on its disk.
type watcher struct {
	member, folder string
	take           *Recorder
	began          time.Time
	held           map[string]string // request by object, as last seen
	spells         map[string]*spell // of deployments, by placement
}

// spell is an update of a deployment that is under way, or was.
type spell struct {
	uid     string
	changed time.Time
	at      int // in the history
	over    bool
}

// keptObject is the file of an object of a member.
type keptObject struct {
	Object struct {
		Kind     string
		Metadata struct {
			Name, Namespace, UID string
			Annotations          map[string]string
		}
	}
	Changed time.Time
	Pods    []struct{ Ready, Ending time.Time }
}

func (w *watcher) work(ctx context.Context) {
	tick := time.NewTicker(4 * pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look()
		}
	}
}

// look takes down what changed since it was last called, and returns what the member holds.
func (w *watcher) look() map[string]string {
	now := elsewhen.Now()
	held := map[string]string{}
	for _, kept := range readKept(w.folder) {
		meta := kept.Object.Metadata
		name := api.ObjectRef{Kind: kept.Object.Kind, Namespace: meta.Namespace, Name: meta.Name}.String()
		held[name] = meta.Annotations[mark]
		if kept.Object.Kind == "Deployment" {
			w.follow(meta.Name, kept, now)
		}
	}
	for name := range w.held {
		if held[name] == "" {
			held[name] = ""
		}
	}
	at := now.Sub(w.began)
	for name, request := range held {
		if request != w.held[name] {
			shown := Shown{At: at, Member: w.member, Object: name, Request: request}
			w.take.Note(func(h *History) { h.Shown = append(h.Shown, shown) })
		}
	}
	w.held = held
	return held
}

// follow takes down for how long an update makes a deployment unavailable: from when it is changed until all its
// pods are ready, or until now. A deployment that was not there before is not updated.
func (w *watcher) follow(app string, kept keptObject, now time.Time) {
	s, uid := w.spells[app], kept.Object.Metadata.UID
	switch {
	case s == nil || s.uid != uid:
		w.spells[app] = &spell{uid: uid, changed: kept.Changed, over: true}
		return
	case !s.changed.Equal(kept.Changed):
		s.changed, s.over = kept.Changed, false
		w.take.Note(func(h *History) {
			s.at = len(h.Spells)
			h.Spells = append(h.Spells, Spell{Member: w.member, Placement: app, From: kept.Changed.Sub(w.began)})
		})
	case s.over:
		return
	}
	until := kept.Changed
	for _, p := range kept.Pods {
		if p.Ready.IsZero() || p.Ready.After(now) || !p.Ending.IsZero() {
			until = now
			break
		}
		until = latest(until, p.Ready)
	}
	s.over = until.Before(now) && len(kept.Pods) > 0
	w.take.Note(func(h *History) { h.Spells[s.at].To = until.Sub(w.began) })
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// readKept reads the files of a member's objects; of those that vanish meanwhile there are none.
func readKept(folder string) []keptObject {
	names, err := filepath.Glob(filepath.Join(folder, "member", "objects", "*.json"))
	if err != nil {
		panic(err) // the pattern is ours
	}
	var all []keptObject
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		var kept keptObject
		if json.Unmarshal(text, &kept) == nil {
			all = append(all, kept)
		}
	}
	return all
}
