// Package past answers what events and records tell of what was: how the last change of a placement came to its members,
// what became of it, and how it was at a time. It changes nothing. Package door serves its answers.
package past

import (
	"context"
	"fmt"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/past"
	"flotilla/hub/door/records"
	"flotilla/hub/door/show"
)

// Reader reads the past of one term of leadership.
type Reader struct {
	store   *store.Store
	records *records.Tables
	view    *show.View
	results placed.Results
	beats   *watch.Values[api.Heartbeat]
}

// New returns a reader of the records of a store.
func New(leader *store.Store, tables *records.Tables, view *show.View) *Reader {
	return &Reader{
		store: leader, records: tables, view: view,
		results: placed.ResultsOf(leader), beats: watch.ValuesOf[api.Heartbeat](leader.Heartbeats),
	}
}

// mostEvents is how many events of a placement are looked at, the newest.
const mostEvents = 20_000

// told are the events of a placement.
func (r *Reader) told(ctx context.Context, name string) (streams.Past, error) {
	found, err := streams.ReadPast(ctx, r.store.Conn, streams.AuditQuery{Object: api.AuditObject(api.AuditPlacement, name), Limit: mostEvents})
	if err != nil {
		return found, fmt.Errorf("reading what became of %s: %w", name, err)
	}
	return found, nil
}

// History tells what became of a placement, also of one that is gone.
func (r *Reader) History(ctx context.Context, request *api.PastRequest) (any, error) {
	table, name := r.records.Place(request.Object)
	if table != r.records.Placements {
		return nil, r.records.Missing(request.Object)
	}
	told, err := r.told(ctx, name)
	if err != nil {
		return nil, err
	}
	in := past.Input{
		Name: name, Told: told.Events, KeptFrom: told.KeptFrom, Since: request.Since.Time, Limit: request.Limit, At: request.At.Time,
	}
	stored, _, found := table.Get(name)
	if !found && len(told.Events) == 0 {
		return nil, r.records.Missing(request.Object)
	}
	if found {
		in.Spec = &stored
		in.Snapshots = r.records.History(name, stored.UID)
	}
	if schedule, _, scheduled := r.records.Schedules.Get(name); scheduled {
		in.Schedule = &schedule
	}
	answer := past.Of(in)
	return &answer, nil
}
