package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/lines"
)

// Cache mirrors a bucket, or part of a stream, that agents write. Keys that hold wildcards are dropped.
type Cache struct {
	conn   *bus.Conn
	from   source
	mirror *Mirror
	feed   *Feed
	lines  lines.Bound // of what cannot be decoded, by member

	mu        sync.RWMutex
	listeners []func(key string)
	holders   []holder
}

// CacheEntry is the newest value of one key.
type CacheEntry struct {
	Key      string
	Value    []byte
	Sequence uint64
	// Stored is the broker's time of storing, by the broker's clock.
	Stored time.Time
	// Received is the machine's monotonic time of receipt.
	Received time.Time
	// Replayed says that the entry came out of the bucket at a (re)start of the watcher, not live; then
	// Received says nothing about its age.
	Replayed bool

	within bus.Bounds
}

// NewCache returns an empty cache of a bucket, by short name; Run fills it.
func NewCache(c *bus.Conn, bucket string) *Cache { return newCache(c, BucketSource(c.Fleet, bucket)) }

// NewInventories returns an empty cache of the members' inventories, by member; Run fills it.
func NewInventories(c *bus.Conn) *Cache { return newCache(c, inventorySource(c.Fleet)) }

func newCache(c *bus.Conn, from source) *Cache {
	cache := &Cache{conn: c, from: from, lines: lines.Bound{Now: c.Now}}
	cache.mirror = NewMirror(cache.changed)
	cache.feed = NewFeed(c, from, cache.mirror)
	return cache
}

// Run watches until ctx ends, as State.Run does.
func (c *Cache) Run(ctx context.Context) { c.feed.Run(ctx) }

// Age of an entry at now, a time of the connection's clock: of a live entry the time since receipt; of a replayed one
// the broker's time when the listing began minus the entry's, plus the time since then, so that only
// one clock at a time is compared with itself.
func (c *Cache) Age(e CacheEntry, now time.Time) time.Duration {
	now = c.conn.ToMachine(now)
	if !e.Replayed {
		return max(0, now.Sub(e.Received))
	}
	c.mirror.mu.RLock()
	l := c.mirror.current
	c.mirror.mu.RUnlock()
	return l.age(e.Stored, now)
}

// ReadableSince is when, by the connection's clock, the bucket last became readable (after connect, reconnect or a lost watcher).
// Conditions hold for one grace period after it.
func (c *Cache) ReadableSince() time.Time {
	c.mirror.mu.RLock()
	defer c.mirror.mu.RUnlock()
	return c.conn.FromMachine(c.mirror.readable)
}

// Get returns the newest entry of a key.
func (c *Cache) Get(key string) (CacheEntry, bool) {
	found, ok := c.mirror.Get(key)
	if !ok {
		return CacheEntry{}, false
	}
	return CacheEntry{
		Key: key, Value: found.Value, Sequence: found.Sequence,
		Stored: found.stored, Received: found.received, Replayed: found.replayed,
		within: bus.BoundsOf(c.from.name),
	}, true
}

// Bytes is what the values of each member take.
func (c *Cache) Bytes() map[string]int64 {
	out := map[string]int64{}
	for key, found := range c.mirror.Snapshot() {
		member, _, _ := strings.Cut(key, ".")
		out[member] += int64(len(found.Value))
	}
	return out
}

// Keys with that prefix, sorted.
func (c *Cache) Keys(prefix string) []string { return c.mirror.Keys(prefix) }

// OnChange registers f, called with each key that came, changed or went, and at once with every key
// there is. It must not block.
func (c *Cache) OnChange(f func(key string)) {
	c.mu.Lock()
	c.listeners = append(slices.Clip(c.listeners), f)
	c.mu.Unlock()
	for _, key := range c.Keys("") {
		f(key)
	}
}

func (c *Cache) changed(key string) {
	c.mu.RLock()
	listeners, holders := c.listeners, c.holders
	c.mu.RUnlock()
	if _, there := c.mirror.Get(key); !there {
		for _, h := range holders {
			h.forget(key)
		}
	}
	for _, f := range listeners {
		f(key)
	}
}

// Synced says that the cache holds everything since the last (re)connect.
func (c *Cache) Synced() bool { return c.mirror.IsSynced() }

// WaitSynced returns when Synced, or with ctx's error.
func (c *Cache) WaitSynced(ctx context.Context) error { return c.mirror.WaitSynced(ctx) }

// Purge removes a key from the bucket, unless it was written since it was read here.
func (c *Cache) Purge(ctx context.Context, key string) error {
	entry, ok := c.mirror.Get(key)
	if !ok {
		return nil
	}
	if err := c.conn.Purge(ctx, c.from.stream, c.from.subject(key), entry.Sequence); err != nil {
		return fmt.Errorf("purging %s: %w", key, err)
	}
	c.mirror.forget(key, entry.Sequence)
	return nil
}

// Decode reads the JSON value of an entry.
func Decode[T any](e CacheEntry) (T, error) {
	var v T
	if err := bus.Decode(e.Value, cmp.Or(e.within, bus.RecordBounds), &v); err != nil {
		return v, fmt.Errorf("decoding %s: %w", e.Key, err)
	}
	return v, nil
}
