package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/subjects"
)

const (
	// BundleRoom is what is left free of a message for its subject, its headers and the frame of a bundle.
	BundleRoom = 4 << 10
	// readsAtOnce is how many bodies are read at a time for one bundle.
	readsAtOnce = 16
)

// BundleLimit is how many bytes the parts of a bundle may take: those of the largest content, and of a message.
func (c *Content) BundleLimit() int {
	return min(bus.MaxContent, int(c.conn.NC.MaxPayload())) - BundleRoom
}

// PutBundle stores a work, sealed, in one message with the bodies that it carries; one that is stored already stays as it is, and
// none of its bodies is read. Bodies are those that the caller has at hand, by digest; the others are read. One that is not to be had is left out:
// whoever needs it asks for it alone, and finds it once it was put again. ErrTooLarge.
func (c *Content) PutBundle(ctx context.Context, digest string, work *api.Work, bodies map[string][]byte) error {
	there := false
	var err error
	if reads(work, bodies) {
		there, err = c.there(ctx, digest)
	}
	if err == nil && !there {
		err = c.putBundle(ctx, digest, work, bodies)
	}
	if err != nil {
		return fmt.Errorf("storing work %s: %w", digest, err)
	}
	return nil
}

// reads says that bodies have to be read for the bundle of a work.
func reads(work *api.Work, given map[string][]byte) bool {
	return slices.ContainsFunc(work.Manifests, func(m api.WorkManifest) bool { return m.Pack == 0 && given[m.Digest] == nil })
}

// there says that something is stored for a digest, sealed with the secret that seals now. It stays while there is a Hold.
func (c *Content) there(ctx context.Context, digest string) (bool, error) {
	subject := c.subject(c.use(digest).At)
	stream, err := c.conn.JS.Stream(ctx, c.conn.Fleet.BucketStream(subjects.Content))
	if err != nil {
		return false, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return false, err
	}
	return info.State.Subjects[subject] > 0, nil
}

// use is the piece of a digest, which is in use from now on.
func (c *Content) use(digest string) api.Piece {
	piece := c.keys.Piece(digest)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unused, piece.At)
	return piece
}

// Reserve keeps Sweep away from what is stored for a digest, now or later, until release: as Hold does, but others
// store and sweep meanwhile.
func (c *Content) Reserve(digest string) (release func()) {
	defer c.Hold()() // nothing is being removed
	at := c.use(digest).At
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved[at]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.reserved[at]--; c.reserved[at] == 0 {
			delete(c.reserved, at)
		}
	}
}

func (c *Content) putBundle(ctx context.Context, digest string, work *api.Work, bodies map[string][]byte) error {
	piece := c.use(digest)
	text, err := json.Marshal(work)
	if err != nil {
		return err
	}
	head, err := seal.Seal(piece, text)
	if err != nil {
		return err
	}
	carried, err := c.carried(ctx, work, bodies)
	if err != nil {
		return err
	}
	bundle := seal.Bundle(head, carried)
	if most := maxContentMessage - BundleRoom/4; len(bundle) > most {
		return fmt.Errorf("%w: %d bytes, at most %d", bus.ErrTooLarge, len(bundle), most)
	}
	return c.PutRaw(ctx, piece.At, bundle)
}

// carried are the bodies that a bundle of a work carries, as they are sealed, in their order; empty where one is not to
// be had.
func (c *Content) carried(ctx context.Context, work *api.Work, bodies map[string][]byte) ([][]byte, error) {
	var own []*api.WorkManifest
	for i := range work.Manifests {
		if work.Manifests[i].Pack == 0 {
			own = append(own, &work.Manifests[i])
		}
	}
	carried, faults := make([][]byte, len(own)), make([]error, len(own))
	places := make(chan struct{}, readsAtOnce)
	var reading sync.WaitGroup
	for i, m := range own {
		if body, given := bodies[m.Digest]; given {
			carried[i], faults[i] = c.seal(m.Digest, body)
			continue
		}
		places <- struct{}{}
		reading.Go(func() {
			defer func() { <-places }()
			carried[i], faults[i] = c.sealed(ctx, m.Digest)
			if errors.Is(faults[i], bus.ErrNotFound) || errors.Is(faults[i], bus.ErrCorrupt) {
				c.conn.Log.Warn().Err(faults[i]).Str("object", m.String()).Msg("a bundle is stored without a body: apply the object again")
				carried[i], faults[i] = nil, nil
			}
		})
	}
	reading.Wait()
	return carried, errors.Join(faults...)
}

// sealed is the body of a digest as it is sealed now: as it lies there, or sealed anew where it lies as it was before a rotation.
func (c *Content) sealed(ctx context.Context, digest string) ([]byte, error) {
	stored, body, err := c.get(ctx, digest)
	c.moved.read.Add(int64(len(stored)))
	if err != nil {
		return nil, err
	}
	if body.piece.At == c.keys.Piece(digest).At {
		return stored, nil
	}
	return c.seal(digest, body.text)
}

func (c *Content) seal(digest string, body []byte) ([]byte, error) {
	c.moved.sealed.Add(int64(len(body)))
	return seal.Seal(c.keys.Piece(digest), body)
}

// moved counts the bytes of bodies that were read, and those that were sealed, for bundles.
type moved struct{ read, sealed atomic.Int64 }

// Moved are how many bytes of bodies were read, and how many were sealed, for bundles that were stored.
func (c *Content) Moved() (read, sealed int64) { return c.moved.read.Load(), c.moved.sealed.Load() }

// Work reads the work of a digest, sealed with whichever secret. ErrNotFound, ErrCorrupt.
func (c *Content) Work(ctx context.Context, digest string) (api.Work, error) {
	work, _, err := c.work(ctx, digest)
	return work, err
}

// Bundled is Work, with how many bytes the bodies have at least that its bundle carries.
func (c *Content) Bundled(ctx context.Context, digest string) (work api.Work, carried int, err error) {
	work, bodies, err := c.work(ctx, digest)
	for _, body := range bodies {
		carried += max(0, len(body)-seal.Overhead)
	}
	return work, carried, err
}

// work reads the work of a digest, and the bodies that its bundle carries, as they are sealed.
func (c *Content) work(ctx context.Context, digest string) (work api.Work, bodies [][]byte, err error) {
	missing := bus.ErrNotFound
	for _, piece := range c.keys.Pieces(digest) {
		stored, err := bus.ReadSealed(ctx, c.conn, piece.At, c.conn.Found)
		if errors.Is(err, bus.ErrNotFound) {
			missing = err
			continue
		}
		if err == nil {
			work, bodies, err = openWork(piece, stored)
		}
		if err != nil {
			return work, nil, fmt.Errorf("reading work %s: %w", digest, err)
		}
		return work, bodies, nil
	}
	return work, nil, fmt.Errorf("reading work %s: %w", digest, missing)
}

func openWork(piece api.Piece, bundle []byte) (work api.Work, bodies [][]byte, err error) {
	head, bodies, err := seal.Unbundle(bundle)
	var text []byte
	if err == nil {
		text, err = seal.Open(piece, head, bus.MaxContent)
	}
	if err == nil {
		err = json.Unmarshal(text, &work)
	}
	if err != nil {
		return work, nil, fmt.Errorf("%w: %w", bus.ErrCorrupt, err)
	}
	return work, bodies, nil
}

// own are the bodies that the bundle of a work carries, by digest, as far as they can be opened.
func own(work *api.Work, sealed [][]byte) map[string][]byte {
	bodies := map[string][]byte{}
	for i := range work.Manifests {
		m := &work.Manifests[i]
		if m.Pack != 0 || m.Frame < 0 || m.Frame >= len(sealed) {
			continue
		}
		if body, err := seal.Open(m.Piece, sealed[m.Frame], bus.MaxContent); err == nil {
			bodies[m.Digest] = body
		}
	}
	return bodies
}

// Rebundle seals the work of a digest and what it carries with the secret that seals now, as change makes it: its packs, and
// bodies that lie on their own too, were sealed anew before. ErrNotFound, ErrCorrupt.
func (c *Content) Rebundle(ctx context.Context, digest string, change func(api.Work) api.Work) error {
	defer c.Hold()()
	work, sealed, err := c.work(ctx, digest)
	if err == nil {
		bodies := own(&work, sealed) // what overrides made of an object lies nowhere else
		work = change(work)
		err = c.putBundle(ctx, digest, &work, bodies)
	}
	if err != nil {
		return fmt.Errorf("sealing work %s anew: %w", digest, err)
	}
	return nil
}
