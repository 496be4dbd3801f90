package bus

import (
	"context"
	"time"
)

// Content is the write-once store of bodies and work documents, addressed by sha256 in hex.
type Content struct{}

// Hold keeps Sweep away from the first Put until what refers to it is committed; call release then.
func (c *Content) Hold() (release func()) { return func() {} }

// Put stores body under its digest, which it returns; storing it again changes nothing.
func (c *Content) Put(ctx context.Context, body []byte) (digest string, err error) {
	return "", errUnbuilt
}

// Get reads and verifies a body. ErrNotFound, ErrCorrupt.
func (c *Content) Get(ctx context.Context, digest string) ([]byte, error) { return nil, errUnbuilt }

// Sweep removes what was not in roots in two passes at least an hour apart, and returns the digests it
// removed. roots is called while no Hold is held.
func (c *Content) Sweep(ctx context.Context, now time.Time, roots func() (map[string]bool, error)) ([]string, error) {
	return nil, errUnbuilt
}

// Digest of a body: sha256 in lower-case hex.
func Digest(body []byte) string { return "" }
