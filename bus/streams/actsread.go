package streams

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sort"
	"strings"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// ReadEvents is ReadPast that goes on where the audit stream begins: with the events of people from before, from stream ACTS.
func ReadEvents(ctx context.Context, c *bus.Conn, q AuditQuery) (past Past, err error) {
	if q.Before >= api.FirstAct {
		return q.readActs(ctx, c)
	}
	past, err = ReadPast(ctx, c, q)
	if err != nil || past.Older > 0 {
		return past, err
	}
	shown := cmp.Or(q.Before, math.MaxUint64)
	if len(past.Events) > 0 {
		shown = past.Events[0].Sequence
	}
	past.Older, err = actsBefore(ctx, c, shown)
	if err != nil {
		return past, fmt.Errorf("looking for what people did before: %w", err)
	}
	return past, nil
}

// readActs reads a page of stream ACTS.
func (q AuditQuery) readActs(ctx context.Context, c *bus.Conn) (past Past, err error) {
	kind, name, _ := strings.Cut(q.Object, "/")
	q.Before -= api.FirstAct
	past, err = q.read(ctx, c, part{c.Fleet.Stream(subjects.Acts), c.Fleet.ActFilter(kind, name)})
	if err != nil {
		return past, fmt.Errorf("reading what people did: %w", err)
	}
	if past.Older > 0 {
		past.Older += api.FirstAct
	}
	return past, nil
}

// actsBefore is the position behind those copies in stream ACTS whose events were stored before all that the audit stream holds, and have
// not been shown yet; 0 for none. Shown are those from a sequence on: the audit stream may have lost them since.
func actsBefore(ctx context.Context, c *bus.Conn, shown uint64) (uint64, error) {
	audit, err := c.JS.Stream(ctx, c.Fleet.Stream(subjects.Audit))
	if err != nil {
		return 0, err
	}
	name := c.Fleet.Stream(subjects.Acts)
	acts, err := c.JS.Stream(ctx, name)
	if err != nil {
		return 0, err
	}
	kept, copies := audit.CachedInfo(), acts.CachedInfo().State
	later := func(i int) bool { // the copy, or the next one where that was deleted
		if err != nil {
			return false
		}
		var m *jetstream.RawStreamMsg
		if m, err = c.MessageFrom(ctx, name, c.Fleet.AllActs(), copies.FirstSeq+uint64(i)); err != nil || m == nil {
			return err == nil
		}
		of, unread := copiedFrom(m.Header)
		switch {
		case unread != nil:
			return false
		case kept.State.Msgs > 0 && !of.Stored.Before(kept.State.FirstTime):
			return true
		}
		return of.Sequence >= shown && !of.Stored.Before(kept.Created)
	}
	if copies.Msgs == 0 || later(0) {
		return 0, err
	}
	older := sort.Search(int(copies.LastSeq+1-copies.FirstSeq), later)
	return api.FirstAct + copies.FirstSeq + uint64(older), err
}
