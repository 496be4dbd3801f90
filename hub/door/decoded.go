package door

import (
	"sync"

	"flotilla/bus"
	"flotilla/core/api"
)

// decoded keeps placements that were decoded once, by key and revision. They are shared and must not be
// changed.
type decoded struct {
	mu         sync.Mutex
	placements map[string]decodedPlacement
}

type decodedPlacement struct {
	revision uint64
	value    *api.Placement
}

func newDecoded() *decoded { return &decoded{placements: map[string]decodedPlacement{}} }

func (c *decoded) placement(entry *bus.Entry[api.Spec]) (*api.Placement, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, found := c.placements[entry.Name]; found && held.revision == entry.Revision {
		return held.value, nil
	}
	p, err := api.SpecOf[api.Placement](&entry.Value)
	if err != nil {
		return nil, err
	}
	c.placements[entry.Name] = decodedPlacement{revision: entry.Revision, value: p}
	return p, nil
}

func (c *decoded) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.placements, name)
}
