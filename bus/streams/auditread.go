package streams

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// maxScan is how many events one query looks at to find those of a person, a member or an object, where it asks for fewer.
const maxScan = 10_000

// AuditQuery selects events.
type AuditQuery struct {
	Object string // "placement/web"; empty: all
	Member string // empty: any
	Limit  int    // the newest so many; 0: 200
	By     string // who caused them; empty: anybody
	Before uint64 // Past.Older of the answer before; 0: the newest
}

// ReadAudit is ReadPast of the newest events, without its positions.
func ReadAudit(ctx context.Context, c *bus.Conn, q AuditQuery) ([]api.Audit, error) {
	past, err := ReadPast(ctx, c, q)
	events := make([]api.Audit, len(past.Events))
	for i := range past.Events {
		events[i] = past.Events[i].Audit
	}
	return events, err
}

// Past is what the audit stream holds of something.
type Past struct {
	Events []api.Told // oldest first
	// KeptFrom is from when on all is there that was stored, by the connection's clock; zero where nothing was stored yet.
	KeptFrom time.Time
	// Older is where older ones begin to be looked for, also where none was found here; 0: there are none.
	Older uint64
}

// ReadPast reads one page of events, with the times of storing, and says from when on events are kept. It looks at ten
// thousand events at most that the object has, or the fleet where no object is named, or at as many as a larger q.Limit
// needs. So a page may hold fewer events of a person or a member than there are; Past.Older begins the next one.
func ReadPast(ctx context.Context, c *bus.Conn, q AuditQuery) (past Past, err error) {
	kind, name, _ := strings.Cut(q.Object, "/")
	past, err = q.read(ctx, c, part{c.Fleet.Stream(subjects.Audit), c.Fleet.AuditFilter(kind, name)})
	if err != nil {
		return past, fmt.Errorf("reading the audit stream: %w", err)
	}
	return past, nil
}

// part is what a query reads: a stream, and of that what passes a filter of subjects.
type part struct{ stream, filter string }

func (q AuditQuery) read(ctx context.Context, c *bus.Conn, of part) (past Past, err error) {
	if q.Limit <= 0 {
		q.Limit = api.DefaultEvents
	}
	config, first, err := q.consumer(ctx, c, of)
	if err != nil {
		return past, err
	}
	var events []api.Told
	older := config.OptStartSeq
	err = eachBefore(ctx, c, of.stream, config, cmp.Or(q.Before, math.MaxUint64), func(m jetstream.Msg, meta *jetstream.MsgMetadata) {
		e := api.Told{Stored: c.FromMachine(meta.Timestamp), Sequence: meta.Sequence.Stream}
		if !first.IsZero() && !bytes.Contains(m.Data(), []byte(q.Member)) { // names of members stand in JSON as they are
			return
		}
		if err := json.Unmarshal(m.Data(), &e.Audit); err != nil {
			c.Log.Warn().Err(err).Str("subject", m.Subject()).Msg("audit event cannot be decoded")
			return
		}
		if first.IsZero() { // what was before was not looked at
			first = e.Stored
		}
		if q.Member != "" && !e.Concerns(q.Member) || q.By != "" && e.By != q.By {
			return
		}
		if events = append(events, e); len(events) >= 2*q.Limit {
			events = append(events[:0], events[len(events)-q.Limit:]...)
			first, older = events[0].Stored, events[0].Sequence
		}
	})
	if err != nil {
		return past, err
	}
	if cut := len(events) - q.Limit; cut > 0 {
		events = events[cut:]
		first, older = events[0].Stored, events[0].Sequence
	}
	return Past{Events: events, KeptFrom: first, Older: older}, nil
}

// consumer reads no more of the stream than the query needs. Since is when the first event was stored that there is, by
// the connection's clock; zero where the consumer begins later.
func (q AuditQuery) consumer(ctx context.Context, c *bus.Conn, of part) (config jetstream.ConsumerConfig, since time.Time, err error) {
	if err := subjects.CheckLength(of.filter, "the object of events"); err != nil {
		return config, since, err
	}
	stream, err := c.JS.Stream(ctx, of.stream)
	if err != nil {
		return config, since, err
	}
	state := stream.CachedInfo().State
	switch {
	case state.FirstSeq <= 1: // nothing aged out
		since = c.FromMachine(stream.CachedInfo().Created)
	case state.Msgs == 0:
		since = c.Now()
	default:
		since = c.FromMachine(state.FirstTime)
	}
	config.FilterSubject = of.filter
	w := window{conn: c, of: of, first: state.FirstSeq, end: state.LastSeq + 1, most: q.scan()}
	if q.Before > 0 {
		w.end = min(w.end, q.Before)
	}
	start := w.last()
	if q.Object != "" {
		if start, err = w.start(ctx); err != nil {
			return config, since, err
		}
	}
	if start > state.FirstSeq {
		config.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		config.OptStartSeq = start
		since = time.Time{}
	}
	return config, since, nil
}

// scan is how many events the query may look at.
func (q AuditQuery) scan() uint64 {
	if q.Member == "" && q.By == "" && q.Object == "" {
		return uint64(q.Limit)
	}
	return uint64(max(q.Limit, maxScan))
}
