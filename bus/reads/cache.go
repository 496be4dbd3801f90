package reads

import (
	"strings"
	"sync"

	"flotilla/bus"

	"github.com/nats-io/nats.go"
)

// mostCached is how many bytes of each half of a cache are kept, and besideData how many an answer takes beside its data.
const mostCached, besideData = 16 << 20, 1 << 10

// cache keeps content that was read of late, which never changes: many members are given the same at about one time.
type cache struct {
	stream string // of content

	mu          sync.Mutex
	young, aged map[string]*nats.Msg // by subject; what is not found among the young for as long as these fill up is gone
	size        int                  // of the young
}

func newCache(stream string) *cache { return &cache{stream: stream, young: map[string]*nats.Msg{}} }

// find is what was kept of a read, nil for nothing.
func (c *cache) find(stream, subject string) *nats.Msg {
	if stream != c.stream {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.young[subject]; ok {
		return found
	}
	found := c.aged[subject]
	if found != nil {
		c.add(subject, found)
	}
	return found
}

// keep keeps an answer of a server, unless it is that there is nothing.
func (c *cache) keep(stream, subject string, answer *nats.Msg) {
	if stream != c.stream || strings.ContainsAny(subject, "*>") || answer.Header.Get(bus.HeaderStatus) != "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(subject, answer)
}

func (c *cache) add(subject string, answer *nats.Msg) {
	if _, known := c.young[subject]; known {
		return
	}
	takes := len(answer.Data) + besideData
	if c.size+takes > mostCached {
		c.young, c.aged, c.size = map[string]*nats.Msg{}, c.young, 0
	}
	c.young[subject], c.size = answer, c.size+takes
}
