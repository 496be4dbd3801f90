package bus

import (
	"context"

	"flotilla/core/api"
)

// Audit writes and reads what happened, for people.
type Audit struct{}

// Record publishes an event in the background; it never blocks, and drops (with a log line and a
// count) when thousands are waiting. Object is "<kind>/<name>", "placement/web". Messages are cut so
// that an event fits into 1 KiB.
func (a *Audit) Record(events ...api.Audit) {}

// Dropped counts events that could not be kept.
func (a *Audit) Dropped() uint64 { return 0 }

// AuditQuery selects events.
type AuditQuery struct {
	Object string // "placement/web"; empty: all
	Member string // empty: any
	Limit  int    // the newest so many; 0: 200
}

// ReadAudit reads events, oldest first.
func ReadAudit(ctx context.Context, c *Conn, q AuditQuery) ([]api.Audit, error) {
	return nil, errUnbuilt
}
