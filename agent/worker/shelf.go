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

// errAbsent is one that the hub says it does not have.
var errAbsent = fmt.Errorf("is not on the hub: %w", errNotYet)

// shelf holds content: on disk, sealed, what the index needs; in memory that of placements that are being brought about.
type shelf struct {
	store *diskStore
	hub   *member.Conn

	mu   sync.Mutex
	read map[string]readWork // by placement
}

// readWork is the work that a placement was read with last.
type readWork struct {
	digest    string
	piece     api.Piece
	manifests []apply.Manifest // nil once the placement is well
}

// manifests returns the content of the work of an entry, fetched where it is not on disk. The error wraps
// errNotYet when something is missing that may come.
func (s *shelf) manifests(ctx context.Context, e api.IndexEntry) ([]apply.Manifest, error) {
	s.mu.Lock()
	found := s.read[e.Placement]
	s.mu.Unlock()
	same := found.digest == e.Work
	if same && found.piece.At == e.At && found.manifests != nil {
		return found.manifests, nil
	}
	manifests, err := s.manifestsAt(ctx, e.Piece)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.read[e.Placement] = readWork{digest: e.Work, piece: e.Piece, manifests: manifests}
		return manifests, nil
	}
	if !same || found.piece.At == e.At {
		return nil, err
	}
	if found.manifests == nil { // they are sealed anew, and not all there yet
		found.manifests, err = s.manifestsAt(ctx, found.piece)
	} else {
		err = nil
	}
	return found.manifests, err
}

// settle lets go of what is held in memory of the content of a placement that is well: it is read again when needed.
func (s *shelf) settle(placement string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.read[placement]; ok {
		held.manifests = nil
		s.read[placement] = held
	}
}

// works are those that placements were read with last.
func (s *shelf) works() (out []api.Piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, held := range s.read {
		out = append(out, held.piece)
	}
	return out
}

// manifestsAt reads a work and what it names.
func (s *shelf) manifestsAt(ctx context.Context, piece api.Piece) ([]apply.Manifest, error) {
	work, bodies, err := s.work(ctx, piece)
	if err != nil {
		return nil, err
	}
	packs := [][][]byte{bodies}
	for i := range work.Packs {
		if bodies, err = s.pack(ctx, work.Packs[i].At); err != nil {
			return nil, err
		}
		packs = append(packs, bodies)
	}
	manifests := make([]apply.Manifest, len(work.Manifests))
	for i := range work.Manifests {
		m := &work.Manifests[i]
		body, err := seal.Open(m.Piece, carried(packs, m.Carried), bus.MaxContent)
		if err != nil { // it was not to be had when the bundle was made, or the bundle is damaged
			body, err = s.body(ctx, m.Piece)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.ObjectRef, err)
		}
		manifests[i] = decode(m.Manifest, body)
	}
	return manifests, nil
}

// carried is a body of a bundle, nil where there is none.
func carried(packs [][][]byte, at api.Carried) []byte {
	if at.Pack < 0 || at.Pack >= len(packs) || at.Frame < 0 || at.Frame >= len(packs[at.Pack]) {
		return nil
	}
	return packs[at.Pack][at.Frame]
}

// work reads a work and the sealed bodies of its bundle.
func (s *shelf) work(ctx context.Context, piece api.Piece) (work api.Work, bodies [][]byte, err error) {
	err = s.open(ctx, piece.At, func(bundle []byte) error {
		work, bodies, err = openWork(piece, bundle)
		return err
	})
	if err == nil && work.Kind != api.KindWork {
		err = fmt.Errorf("content %s is no work but a %q: %w", short(piece.At), work.Kind, errNotYet)
	}
	return work, bodies, err
}

// openWork reads the head of a bundle, and splits off its bodies.
func openWork(piece api.Piece, bundle []byte) (work api.Work, bodies [][]byte, err error) {
	head, bodies, err := seal.Unbundle(bundle)
	if err != nil {
		return work, nil, err
	}
	text, err := seal.Open(piece, head, bus.MaxContent)
	if err == nil {
		err = json.Unmarshal(text, &work)
	}
	return work, bodies, err
}

// pack reads the sealed bodies of a bundle that another names, none where the hub has it no more: each of them lies on
// its own too.
func (s *shelf) pack(ctx context.Context, at string) (bodies [][]byte, err error) {
	err = s.open(ctx, at, func(bundle []byte) error {
		_, bodies, err = seal.Unbundle(bundle)
		return err
	})
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	return bodies, err
}

// forget drops what is held in memory of a placement.
func (s *shelf) forget(placement string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.read, placement)
}

// body opens one piece from disk or, if it is not there, from the hub.
func (s *shelf) body(ctx context.Context, piece api.Piece) (body []byte, err error) {
	err = s.open(ctx, piece.At, func(sealed []byte) error {
		body, err = seal.Open(piece, sealed, bus.MaxContent)
		return err
	})
	return body, err
}

// open has read see what lies at a place: on disk or, if it is not there, on the hub. What it cannot read is dropped from
// the disk, and not kept: it may come again.
func (s *shelf) open(ctx context.Context, at string, read func(stored []byte) error) error {
	stored, err := s.store.content(at)
	if err == nil {
		if read(stored) == nil {
			return nil
		}
		if err := s.store.dropContent(at); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if stored, err = s.fetch(ctx, at); err != nil {
		return err
	}
	if err := read(stored); err != nil {
		return fmt.Errorf("content %s %w: %w", short(at), err, errNotYet)
	}
	s.store.keepContent(at, stored)
	return nil
}

func (s *shelf) fetch(ctx context.Context, at string) ([]byte, error) {
	if !s.hub.Connected() {
		return nil, fmt.Errorf("content %s is not on disk and the hub is away: %w", short(at), errNotYet)
	}
	stored, err := s.hub.Content(ctx, at)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, bus.ErrNotFound):
		return nil, fmt.Errorf("content %s %w", short(at), errAbsent)
	case err != nil:
		return nil, fmt.Errorf("fetching content %s: %w: %w", short(at), err, errNotYet)
	}
	return stored, nil
}

// inUse lists the places of works and of what they name, as far as the works are on disk.
func (s *shelf) inUse(works []api.Piece) map[string]bool {
	out := map[string]bool{}
	for _, piece := range works {
		out[piece.At] = true
		bundle, err := s.store.content(piece.At)
		if err != nil {
			continue
		}
		work, _, err := openWork(piece, bundle)
		if err != nil {
			continue
		}
		for i := range work.Packs {
			out[work.Packs[i].At] = true
		}
		for i := range work.Manifests {
			out[work.Manifests[i].At] = true
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
