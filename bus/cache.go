package bus

import (
	"context"
	"time"
)

// Cache mirrors a bucket that agents write.
type Cache struct{}

// CacheEntry is the newest value of one key.
type CacheEntry struct {
	Key      string
	Value    []byte
	Sequence uint64
	// Stored is the broker's time of storing.
	Stored time.Time
	// Received is the hub's monotonic time of receipt.
	Received time.Time
	// Replayed says that the entry came out of the bucket at a (re)start of the watcher, not live; then
	// Received says nothing about its age.
	Replayed bool
}

// Age of an entry at now, the hub's clock: of a live entry the time since receipt; of a replayed one
// the broker's time of the hub's newest live or own entry in the bucket, minus the entry's, plus the
// time since that was received.
func (c *Cache) Age(e CacheEntry, now time.Time) time.Duration { return 0 }

// ReadableSince is when the bucket last became readable (after connect, reconnect or watcher reset).
// Conditions hold for one grace period after it.
func (c *Cache) ReadableSince() time.Time { return time.Time{} }

// Get returns the newest entry of a key.
func (c *Cache) Get(key string) (CacheEntry, bool) { return CacheEntry{}, false }

// Keys with that prefix, sorted.
func (c *Cache) Keys(prefix string) []string { return nil }

// OnChange registers f, called with each key that came, changed or went. It must not block.
func (c *Cache) OnChange(f func(key string)) {}

// Synced says that the cache holds everything since the last (re)connect.
func (c *Cache) Synced() bool { return false }

// Purge removes a key from the bucket.
func (c *Cache) Purge(ctx context.Context, key string) error { return errUnbuilt }

// Decode reads the JSON value of an entry.
func Decode[T any](e CacheEntry) (T, error) { var v T; return v, errUnbuilt }
