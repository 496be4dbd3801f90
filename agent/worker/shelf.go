package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/bus"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/core/apply"
	"flotilla/core/seal"
)

// errNotYet says that content is missing here and cannot be had from the hub now.
var errNotYet = errors.New("not to be had yet")

// shelf holds content: on disk, sealed, what the index needs; in memory what placements run now.
type shelf struct {
	store *diskStore
	hub   *member.Conn

	mu   sync.Mutex
	read map[string]readWork // by placement
}

type readWork struct {
	digest    string
	at        string // where it lies
	manifests []apply.Manifest
}

// manifests returns the content of the work of an entry, fetched where it is not on disk. The error wraps
// errNotYet when something is missing that may come.
func (s *shelf) manifests(ctx context.Context, e api.IndexEntry) ([]apply.Manifest, error) {
	s.mu.Lock()
	found := s.read[e.Placement]
	s.mu.Unlock()
	if found.digest == e.Work && found.at == e.At {
		return found.manifests, nil
	}
	manifests, err := s.manifestsAt(ctx, e)
	if err != nil && found.digest == e.Work {
		return found.manifests, nil // they are sealed anew, and not all there yet
	}
	return manifests, err
}

// manifestsAt reads the work of an entry and what it names.
func (s *shelf) manifestsAt(ctx context.Context, e api.IndexEntry) ([]apply.Manifest, error) {
	body, err := s.body(ctx, e.Piece)
	if err != nil {
		return nil, err
	}
	var w api.Work
	if err := json.Unmarshal(body, &w); err != nil || w.Kind != api.KindWork {
		return nil, fmt.Errorf("content %s is not a work of this or an earlier level: %w", short(e.At), errors.Join(err, errNotYet))
	}
	manifests := make([]apply.Manifest, len(w.Manifests))
	for i, m := range w.Manifests {
		if body, err = s.body(ctx, m.Piece); err != nil {
			return nil, fmt.Errorf("%s: %w", m.ObjectRef, err)
		}
		manifests[i] = decode(m.Manifest, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read[e.Placement] = readWork{digest: e.Work, at: e.At, manifests: manifests}
	return manifests, nil
}

// forget drops what is held in memory of a placement.
func (s *shelf) forget(placement string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.read, placement)
}

// body opens one piece from disk or, if it is not there, from the hub. What cannot be opened is dropped: it may
// come again.
func (s *shelf) body(ctx context.Context, piece api.Piece) ([]byte, error) {
	sealed, err := s.store.content(piece.At)
	if err == nil {
		body, err := seal.Open(piece, sealed, bus.MaxContent)
		if err == nil {
			return body, nil
		}
		if err := s.store.dropContent(piece.At); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s.fetch(ctx, piece)
}

func (s *shelf) fetch(ctx context.Context, piece api.Piece) ([]byte, error) {
	if !s.hub.Connected() {
		return nil, fmt.Errorf("content %s is not on disk and the hub is away: %w", short(piece.At), errNotYet)
	}
	sealed, err := s.hub.Content(ctx, piece.At)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, bus.ErrNotFound):
		return nil, fmt.Errorf("content %s is not on the hub: %w", short(piece.At), errNotYet)
	case err != nil:
		return nil, fmt.Errorf("fetching content %s: %w: %w", short(piece.At), err, errNotYet)
	}
	body, err := seal.Open(piece, sealed, bus.MaxContent)
	if err != nil {
		return nil, fmt.Errorf("content %s %w: %w", short(piece.At), err, errNotYet)
	}
	s.store.keepContent(piece.At, sealed)
	return body, nil
}

// inUse lists the places of works and of the bodies they name, as far as the works are on disk.
func (s *shelf) inUse(works []api.Piece) map[string]bool {
	out := map[string]bool{}
	for _, work := range works {
		out[work.At] = true
		var w api.Work
		sealed, err := s.store.content(work.At)
		if err != nil {
			continue
		}
		body, err := seal.Open(work, sealed, bus.MaxContent)
		if err != nil || json.Unmarshal(body, &w) != nil {
			continue
		}
		for _, m := range w.Manifests {
			out[m.At] = true
		}
	}
	return out
}

// decode reads one body. A body that is not the object the manifest names is a fault of that manifest
// alone.
func decode(m api.Manifest, body []byte) apply.Manifest {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return apply.Manifest{Manifest: m, Fault: fmt.Sprintf("content %s: %v", short(m.Digest), err)}
	}
	if got := apply.RefOf(object); apply.IdentityOf(got) != apply.IdentityOf(m.ObjectRef) {
		return apply.Manifest{Manifest: m, Fault: fmt.Sprintf("content %s is %s", short(m.Digest), got)}
	}
	return apply.Manifest{Manifest: m, Object: object}
}

// short is enough of a digest or a place to find it.
func short(text string) string { return text[:min(12, len(text))] }
