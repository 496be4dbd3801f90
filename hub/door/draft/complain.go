package draft

import (
	"sync"

	"flotilla/core/api"
	"flotilla/core/health"
)

// complaints are told once for each revision of a record.
type complaints struct {
	mu   sync.Mutex
	told map[string]uint64 // revision by object
}

func (c *complaints) first(object string, revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = map[string]uint64{}
	}
	if c.told[object] == revision {
		return false
	}
	c.told[object] = revision
	return true
}

// complain tells of a stored object that cannot be read and is left out.
func (d *Desk) complain(object string, revision uint64, err error) {
	if !d.complaints.first(object, revision) {
		return
	}
	d.options.Log.Error().Err(err).Str("object", object).Uint64("revision", revision).Msg("what is stored cannot be read")
	d.store.Audit.Record(api.Audit{
		Object: object, Type: "Warning", Reason: health.ReasonUnreadable, By: "door",
		Message: err.Error() + "; nothing is decided about it: apply or delete it",
	})
}
