package streams

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// ReadEvents is ReadPast that goes on where the audit stream begins: with the events of people that it holds no more, from stream ACTS.
func ReadEvents(ctx context.Context, c *bus.Conn, q AuditQuery) (past Past, err error) {
	if q.Before >= api.FirstAct {
		return q.readActs(ctx, c)
	}
	past, err = ReadPast(ctx, c, q)
	if err != nil || past.Older > 0 {
		return past, err
	}
	past.Older, err = actsBeforeAudit(ctx, c)
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

// actsBeforeAudit is the position behind those copies in stream ACTS of which the audit stream does not hold the event any more, 0 for
// none.
func actsBeforeAudit(ctx context.Context, c *bus.Conn) (uint64, error) {
	audit, err := c.JS.Stream(ctx, c.Fleet.Stream(subjects.Audit))
	if err != nil {
		return 0, err
	}
	acts, err := c.JS.Stream(ctx, c.Fleet.Stream(subjects.Acts))
	if err != nil {
		return 0, err
	}
	kept, copies := audit.CachedInfo().State, acts.CachedInfo().State
	held := func(i int) bool { // of the copy, or the next one where that was deleted
		if kept.Msgs == 0 || err != nil {
			return false
		}
		var m *jetstream.RawStreamMsg
		m, err = acts.GetMsg(ctx, copies.FirstSeq+uint64(i), jetstream.WithGetMsgSubject(c.Fleet.AllActs()))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			err = nil
			return true
		}
		if err != nil {
			return false
		}
		of, unread := copiedFrom(m.Header)
		return unread == nil && !of.Stored.Before(kept.FirstTime)
	}
	if copies.Msgs == 0 || held(0) {
		return 0, err
	}
	older := sort.Search(int(copies.LastSeq+1-copies.FirstSeq), held)
	return api.FirstAct + copies.FirstSeq + uint64(older), err
}
