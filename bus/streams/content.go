package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// SweepAfter is how long content must have been unreferenced before it is removed, and how long a backup may count on what it has listed.
const SweepAfter = time.Hour

// alreadyStored is the server's text for a second write of a key; under the same code it reports a
// full store too, which must not be taken for success.
const alreadyStored = "maximum messages per subject exceeded"

// Content is the write-once store of bodies and work documents, all of them sealed. Callers name them by their
// keyed digests; where each lies follows from the digest and the secrets.
type Content struct {
	conn *bus.Conn
	keys *seal.Keyring

	hold sync.RWMutex // shared from a Put to the commit of what refers to it, alone by Sweep

	mu     sync.Mutex
	unused map[string]time.Time // places of pieces no root named, since when
	idle   idle
	// reserved are places that somebody is about to refer to, and how often.
	reserved map[string]int

	moved moved
}

// NewContent returns the content store of the connection's fleet, sealed with keys.
func NewContent(c *bus.Conn, keys *seal.Keyring) *Content {
	return &Content{conn: c, keys: keys, unused: map[string]time.Time{}, idle: newIdle(), reserved: map[string]int{}}
}

// Hold keeps Sweep away from the first Put until what refers to it is committed; call release then.
func (c *Content) Hold() (release func()) {
	c.hold.RLock()
	return c.hold.RUnlock
}

// Put seals body and stores it for its digest; storing it again changes nothing. Bodies above 4 MiB are
// ErrTooLarge.
func (c *Content) Put(ctx context.Context, digest string, body []byte) error {
	if len(body) > bus.MaxContent {
		return fmt.Errorf("content %s: %w: %d bytes, at most %d", digest, bus.ErrTooLarge, len(body), bus.MaxContent)
	}
	piece := c.use(digest)
	sealed, err := seal.Seal(piece, body)
	if err != nil {
		return fmt.Errorf("sealing content %s: %w", digest, err)
	}
	if err := c.PutRaw(ctx, piece.At, sealed); err != nil {
		return fmt.Errorf("storing content %s: %w", digest, err)
	}
	return nil
}

// Get reads and opens the body of a digest, sealed with whichever secret. ErrNotFound, ErrCorrupt.
func (c *Content) Get(ctx context.Context, digest string) ([]byte, error) {
	_, body, err := c.get(ctx, digest)
	return body.text, err
}

// opened is a body, and the piece that it was.
type opened struct {
	piece api.Piece
	text  []byte
}

// get is Get, with the body as it is stored too.
func (c *Content) get(ctx context.Context, digest string) (stored []byte, body opened, err error) {
	var missing error
	for _, piece := range c.keys.Pieces(digest) {
		stored, text, err := c.getPiece(ctx, piece)
		if err == nil {
			return stored, opened{piece, text}, nil
		}
		if !errors.Is(err, bus.ErrNotFound) {
			return nil, opened{}, fmt.Errorf("reading content %s: %w", digest, err)
		}
		missing = err
	}
	return nil, opened{}, fmt.Errorf("reading content %s: %w", digest, missing)
}

func (c *Content) getPiece(ctx context.Context, piece api.Piece) (stored, body []byte, err error) {
	stored, err = bus.ReadSealed(ctx, c.conn, piece.At, c.conn.Found)
	if err != nil {
		return nil, nil, err
	}
	body, err = seal.Open(piece, stored, bus.MaxContent)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", bus.ErrCorrupt, err)
	}
	return stored, body, nil
}

// Roots are the digests of all that something refers to, and whether all of it is sealed with the secret that seals now:
// else what it was sealed with before is needed yet, by works that name where it lies.
type Roots func() (digests map[string]bool, resealed bool, err error)

// Sweep removes what is of none of the digests in roots, in two passes at least an hour apart, and returns the
// places of what it removed, sorted. roots is called while no Hold is held, and no Put begins until it returned; between
// removals, of which there may be many, Puts go on. What a person had stored who has too much idle goes sooner.
// It ends where this hub leads no more: what another stores it does not know of.
func (c *Content) Sweep(ctx context.Context, now time.Time, roots Roots, leads func() bool) ([]string, error) {
	return c.sweep(ctx, now, false, roots, leads)
}

// SweepSoon is Sweep in two passes at least half a minute apart, but of what a backup counts on: for content that is short
// of room.
func (c *Content) SweepSoon(ctx context.Context, now time.Time, roots Roots, leads func() bool) ([]string, error) {
	return c.sweep(ctx, now, true, roots, leads)
}

func (c *Content) sweep(ctx context.Context, now time.Time, soon bool, roots Roots, leads func() bool) ([]string, error) {
	stream, err := c.conn.JS.Stream(ctx, c.conn.Fleet.BucketStream(subjects.Content))
	if err != nil {
		return nil, fmt.Errorf("sweeping content: %w", err)
	}
	asked := c.conn.Now()
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(c.subject("*")))
	if err != nil {
		return nil, fmt.Errorf("sweeping content: %w", err)
	}
	there := map[string]bool{}
	for subject := range info.State.Subjects {
		if at, ok := c.conn.Fleet.BucketKey(subjects.Content, subject); ok {
			there[at] = true
		}
	}
	expired, err := c.expired(listing{there, asked}, roots, now, soon)
	if err != nil {
		return nil, fmt.Errorf("sweeping content: %w", err)
	}
	var removed []string
	for _, at := range expired {
		gone, err := c.remove(ctx, stream, at, leads)
		if err != nil {
			return removed, fmt.Errorf("sweeping content %s: %w", at, err)
		}
		if gone {
			removed = append(removed, at)
		}
	}
	return removed, nil
}

// remove purges a body, unless somebody put it again since it was found expired, or this hub leads no more.
func (c *Content) remove(ctx context.Context, stream jetstream.Stream, at string, leads func() bool) (bool, error) {
	c.hold.Lock()
	defer c.hold.Unlock()
	c.mu.Lock()
	_, unused := c.unused[at]
	c.mu.Unlock()
	if !unused || !leads() {
		return false, nil
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(c.subject(at))); err != nil {
		return false, err
	}
	c.mu.Lock()
	delete(c.unused, at)
	c.idle.gone(at)
	c.mu.Unlock()
	return true, nil
}

// listing are the places of all content, and when they were asked for.
type listing struct {
	places map[string]bool
	asked  time.Time
}

// expired notes what is unused now and returns, sorted, what has been for long enough.
func (c *Content) expired(all listing, roots Roots, now time.Time, soon bool) ([]string, error) {
	c.hold.Lock()
	defer c.hold.Unlock()
	digests, resealed, err := roots()
	if err != nil {
		return nil, err
	}
	secrets := len(c.keys.Content)
	if resealed {
		secrets = 1
	}
	used := make(map[string]bool, len(digests))
	for digest := range digests {
		for _, piece := range c.keys.Pieces(digest)[:secrets] {
			used[piece.At] = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := range c.reserved {
		used[at] = true
	}
	c.idle.count(used, all, now)
	unused := map[string]time.Time{}
	var out []string
	for at := range all.places {
		if used[at] {
			continue
		}
		since, known := c.unused[at]
		if !known {
			since = now
		}
		unused[at] = since
		goes := since.Add(c.idle.patience(at, soon, now))
		if c.idle.goes(at, goes); !goes.After(now) {
			out = append(out, at)
		}
	}
	c.unused = unused
	slices.Sort(out)
	return out, nil
}

func (c *Content) subject(at string) string {
	return c.conn.Fleet.BucketSubject(subjects.Content, at)
}

// Stored lists the places of all content, sorted.
func (c *Content) Stored(ctx context.Context) ([]string, error) {
	stream, err := c.conn.JS.Stream(ctx, c.conn.Fleet.BucketStream(subjects.Content))
	if err != nil {
		return nil, fmt.Errorf("listing content: %w", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(c.subject("*")))
	if err != nil {
		return nil, fmt.Errorf("listing content: %w", err)
	}
	var places []string
	for subject := range info.State.Subjects {
		if at, ok := c.conn.Fleet.BucketKey(subjects.Content, subject); ok {
			places = append(places, at)
		}
	}
	slices.Sort(places)
	return places, nil
}

// Raw reads content at a place as it is stored, sealed. ErrNotFound.
func (c *Content) Raw(ctx context.Context, at string) ([]byte, error) {
	stored, err := bus.ReadSealed(ctx, c.conn, at, c.conn.Found)
	if err != nil {
		return nil, fmt.Errorf("reading content %s: %w", at, err)
	}
	return stored, nil
}

// PutRaw stores content that is sealed at its place, and notes whose it is; storing it again changes nothing.
func (c *Content) PutRaw(ctx context.Context, at string, sealed []byte) error {
	m := nats.NewMsg(c.subject(at))
	m.Data = sealed
	_, err := c.conn.Publish(ctx, m)
	if refused, is := errors.AsType[*jetstream.APIError](err); is && strings.Contains(refused.Description, alreadyStored) {
		return nil
	}
	if err == nil {
		by, _ := ctx.Value(author{}).(string)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.idle.put(at, written{by, int64(len(sealed)), c.conn.Now()})
	}
	return err
}
