package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// sweepAfter is how long content must have been unreferenced before it is removed.
const sweepAfter = time.Hour

// alreadyStored is the server's text for a second write of a key; under the same code it reports a
// full store too, which must not be taken for success.
const alreadyStored = "maximum messages per subject exceeded"

// Content is the write-once store of bodies and work documents, addressed by sha256 in hex.
type Content struct {
	conn *Conn

	hold sync.RWMutex // shared from a Put to the commit of what refers to it, alone by Sweep

	mu     sync.Mutex
	unused map[string]time.Time // digests no root named, since when
}

// NewContent returns the content store of the connection's fleet.
func NewContent(c *Conn) *Content { return &Content{conn: c, unused: map[string]time.Time{}} }

// Digest of a body: sha256 in lower-case hex.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Hold keeps Sweep away from the first Put until what refers to it is committed; call release then.
func (c *Content) Hold() (release func()) {
	c.hold.RLock()
	return c.hold.RUnlock
}

// Put stores body under its digest, which it returns; storing it again changes nothing. Bodies above
// 4 MiB are ErrTooLarge.
func (c *Content) Put(ctx context.Context, body []byte) (digest string, err error) {
	digest = Digest(body)
	if len(body) > MaxContent {
		return digest, fmt.Errorf("content %s: %w: %d bytes, at most %d", digest, ErrTooLarge, len(body), MaxContent)
	}
	c.mu.Lock()
	delete(c.unused, digest)
	c.mu.Unlock()
	m := nats.NewMsg(c.subject(digest))
	m.Data = body
	_, err = c.conn.publish(ctx, m)
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) && strings.Contains(api.Description, alreadyStored) {
		return digest, nil
	}
	if err != nil {
		return digest, fmt.Errorf("storing content %s: %w", digest, err)
	}
	return digest, nil
}

// Get reads and verifies a body. ErrNotFound, ErrCorrupt.
func (c *Content) Get(ctx context.Context, digest string) ([]byte, error) {
	return getContent(ctx, c.conn, digest, c.conn.found)
}

// reader reads the newest message of a subject of a stream.
type reader func(ctx context.Context, stream, subject string) (directMessage, error)

func getContent(ctx context.Context, c *Conn, digest string, read reader) ([]byte, error) {
	if len(digest) != 2*sha256.Size || strings.Trim(digest, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("content %q: expected a sha256 in lower-case hex", digest)
	}
	f := c.Fleet
	m, err := read(ctx, f.BucketStream(subjects.Content), f.BucketSubject(subjects.Content, digest))
	if err != nil {
		return nil, fmt.Errorf("reading content %s: %w", digest, err)
	}
	if Digest(m.value) != digest {
		return nil, fmt.Errorf("reading content %s: %w", digest, ErrCorrupt)
	}
	return m.value, nil
}

// Sweep removes what was not in roots in two passes at least an hour apart, and returns the digests it
// removed, sorted. roots is called while no Hold is held, and no Put begins until it returned; between
// removals, of which there may be many, Puts go on.
func (c *Content) Sweep(ctx context.Context, now time.Time, roots func() (map[string]bool, error)) ([]string, error) {
	stream, err := c.conn.JS.Stream(ctx, c.conn.Fleet.BucketStream(subjects.Content))
	if err != nil {
		return nil, fmt.Errorf("sweeping content: %w", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(c.subject("*")))
	if err != nil {
		return nil, fmt.Errorf("sweeping content: %w", err)
	}
	expired, err := c.expired(info.State.Subjects, roots, now)
	if err != nil {
		return nil, fmt.Errorf("sweeping content: %w", err)
	}
	var removed []string
	for _, digest := range expired {
		gone, err := c.remove(ctx, stream, digest)
		if err != nil {
			return removed, fmt.Errorf("sweeping content %s: %w", digest, err)
		}
		if gone {
			removed = append(removed, digest)
		}
	}
	return removed, nil
}

// remove purges a body, unless somebody put it again since it was found expired.
func (c *Content) remove(ctx context.Context, stream jetstream.Stream, digest string) (bool, error) {
	c.hold.Lock()
	defer c.hold.Unlock()
	c.mu.Lock()
	_, unused := c.unused[digest]
	c.mu.Unlock()
	if !unused {
		return false, nil
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(c.subject(digest))); err != nil {
		return false, err
	}
	c.mu.Lock()
	delete(c.unused, digest)
	c.mu.Unlock()
	return true, nil
}

// expired notes what is unused now and returns, sorted, what has been for long enough.
func (c *Content) expired(stored map[string]uint64, roots func() (map[string]bool, error), now time.Time) ([]string, error) {
	c.hold.Lock()
	defer c.hold.Unlock()
	used, err := roots()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	unused := map[string]time.Time{}
	var out []string
	for subject := range stored {
		digest, ok := c.conn.Fleet.BucketKey(subjects.Content, subject)
		if !ok || used[digest] {
			continue
		}
		since, known := c.unused[digest]
		if !known {
			since = now
		}
		unused[digest] = since
		if now.Sub(since) >= sweepAfter {
			out = append(out, digest)
		}
	}
	c.unused = unused
	slices.Sort(out)
	return out, nil
}

func (c *Content) subject(digest string) string {
	return c.conn.Fleet.BucketSubject(subjects.Content, digest)
}
