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
	"flotilla/core/api"
	"flotilla/core/apply"
)

// errNotYet says that content is missing here and cannot be had from the hub now.
var errNotYet = errors.New("not to be had yet")

// shelf holds content: on disk what the index needs, in memory what placements run now.
type shelf struct {
	store *store
	hub   *bus.AgentConn

	mu   sync.Mutex
	read map[string]readWork // by placement
}

type readWork struct {
	digest    string
	manifests []apply.Manifest
}

// manifests returns the content of a work, fetched where it is not on disk. The error wraps errNotYet
// when something is missing that may come.
func (s *shelf) manifests(ctx context.Context, placement, work string) ([]apply.Manifest, error) {
	s.mu.Lock()
	found := s.read[placement]
	s.mu.Unlock()
	if found.digest == work {
		return found.manifests, nil
	}
	body, err := s.body(ctx, work)
	if err != nil {
		return nil, err
	}
	var w api.Work
	if err := json.Unmarshal(body, &w); err != nil || w.Kind != api.KindWork {
		return nil, fmt.Errorf("content %s is not a work of this or an earlier level: %w", short(work), errors.Join(err, errNotYet))
	}
	manifests := make([]apply.Manifest, len(w.Manifests))
	for i, m := range w.Manifests {
		if body, err = s.body(ctx, m.Digest); err != nil {
			return nil, fmt.Errorf("%s: %w", m.ObjectRef, err)
		}
		manifests[i] = decode(m, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read[placement] = readWork{digest: work, manifests: manifests}
	return manifests, nil
}

// forget drops what is held in memory of a placement.
func (s *shelf) forget(placement string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.read, placement)
}

// body reads one body from disk or, if it is not there, from the hub.
func (s *shelf) body(ctx context.Context, digest string) ([]byte, error) {
	body, err := s.store.content(digest)
	if err == nil {
		return body, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !s.hub.Connected() {
		return nil, fmt.Errorf("content %s is not on disk and the hub is away: %w", short(digest), errNotYet)
	}
	body, err = s.hub.Content(ctx, digest)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, bus.ErrNotFound):
		return nil, fmt.Errorf("content %s is not on the hub: %w", short(digest), errNotYet)
	case err != nil:
		return nil, fmt.Errorf("fetching content %s: %w: %w", short(digest), err, errNotYet)
	}
	return body, s.store.keepContent(digest, body)
}

// inUse lists the digests of works and of the bodies they name, as far as the works are on disk.
func (s *shelf) inUse(works []string) map[string]bool {
	out := map[string]bool{}
	for _, work := range works {
		out[work] = true
		body, err := s.store.content(work)
		if err != nil {
			continue
		}
		var w api.Work
		if err := json.Unmarshal(body, &w); err != nil {
			continue
		}
		for _, m := range w.Manifests {
			out[m.Digest] = true
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

// short is enough of a digest to find it.
func short(digest string) string { return digest[:min(12, len(digest))] }
