package past

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/status"
	"flotilla/core/trace"
	"flotilla/subjects"
)

// Trace tells how the last change of a placement came to its members.
func (r *Reader) Trace(ctx context.Context, request *api.TraceRequest) (any, error) {
	table, name := r.records.Place(request.Object)
	stored, revision, found := table.Get(name)
	if !found || table != r.records.Placements {
		return nil, r.records.Missing(request.Object)
	}
	p, err := r.records.Placement(&store.Entry[api.Spec]{Name: name, Value: stored, Revision: revision})
	if err != nil {
		return nil, fmt.Errorf("tracing %s: %w", stored.Object, err)
	}
	in, err := r.gather(ctx, name, p, &stored)
	if err != nil {
		return nil, fmt.Errorf("tracing %s: %w", stored.Object, err)
	}
	in.Only = request.Member
	answer := trace.Of(in)
	if request.Member != "" && len(answer.Members) == 0 {
		return nil, &api.Failure{
			Code: api.CodeNotFound, Message: fmt.Sprintf("%s is not on member %s, and is not to go there", stored.Object, request.Member),
			Next: "flotilla why placement/" + name + " -m " + request.Member,
		}
	}
	return fitting(&answer)
}

// answerBytes is how much the members of an answer may take; NATS takes 1 MiB.
const answerBytes = 600 << 10

// fitting leaves out the fastest members that do not fit into an answer. Sums are over all of them.
func fitting(t *api.Trace) (*api.Trace, error) {
	size := 0
	for i := range t.Members {
		text, err := json.Marshal(&t.Members[i])
		if err != nil {
			return nil, fmt.Errorf("encoding: %w", err)
		}
		if size += len(text); size > answerBytes {
			t.Notes = append(t.Notes, fmt.Sprintf("%d members are counted and not listed: ask for them by name", len(t.Members)-i))
			t.Members = t.Members[:i]
			break
		}
	}
	return t, nil
}

// gather reads what a trace is made of.
func (r *Reader) gather(ctx context.Context, name string, p *api.Placement, stored *api.Spec) (in trace.Input, err error) {
	view := r.view.StatusOf(p)
	placement := *p
	placement.CreationTimestamp, placement.Generation = stored.Created, stored.Generation
	in = trace.Input{Now: r.store.Now(), Placement: &placement, Schedule: view.Schedule, Release: view.Release}
	in.Run = r.run(p)
	in.Snapshot = view.Latest
	if run := in.Run; run != nil && run.UnderWay() {
		in.Snapshot = nil
		if s, _, found := r.records.Snapshots.Get(subjects.SnapshotName(name, run.Content.Snapshot)); found {
			in.Snapshot = &s
		}
	}
	if in.Run != nil && in.Snapshot != nil && in.Run.Content.Snapshot != in.Snapshot.Index {
		in.Run = nil
	}
	if rendered, _, found := r.records.Renderings.Get(name); found {
		in.Rendered = &rendered
	}
	told, err := r.told(ctx, name)
	if err != nil {
		return in, err
	}
	in.Past, in.KeptFrom = told.Events, told.KeptFrom
	if in.Stored, err = r.storedOf(ctx, name, in.Snapshot); err != nil {
		return in, err
	}
	standing := status.Standings(view)
	times, err := r.store.Commands.IndexTimes(ctx, membersOf(&in))
	in.Member = func(member string) trace.Known {
		known := r.known(member, name, times[member])
		known.Waits = standing[member]
		return known
	}
	return in, err
}

// run is the staged run that is under way on a placement, or else the one that began last.
func (r *Reader) run(p *api.Placement) (last *api.UpdateRunStatus) {
	if !p.External() {
		return nil
	}
	for _, entry := range r.records.Runs.All() {
		run := entry.Value
		c := run.Content
		if c == nil || c.Placement != p.Key() || c.PlacementUID != string(p.UID) {
			continue
		}
		if run.UnderWay() {
			return &run
		}
		if last == nil || last.Status.StartTime.Before(&run.Status.StartTime) {
			last = &run
		}
	}
	return last
}

// storedOf is when the records of a placement were stored last.
func (r *Reader) storedOf(ctx context.Context, name string, snapshot *api.Snapshot) (s trace.Stored, err error) {
	keys := map[string]*time.Time{
		subjects.PlacementSpecs.Key(name): &s.Spec, subjects.Renderings.Key(name): &s.Rendered, subjects.Releases.Key(name): &s.Release,
	}
	if snapshot != nil {
		keys[subjects.Snapshots.Key(subjects.SnapshotName(name, snapshot.Index))] = &s.Snapshot
	}
	for key, at := range keys {
		if *at, err = r.store.State.StoredAt(ctx, key); err != nil {
			return s, fmt.Errorf("reading when %s was stored: %w", key, err)
		}
	}
	return s, nil
}

// membersOf are those that a placement is on, or is to go to.
func membersOf(in *trace.Input) []string {
	var members []string
	if in.Release == nil {
		return nil
	}
	for i := range in.Release.Entries {
		members = append(members, in.Release.Entries[i].Member)
	}
	return members
}

// known is what a member's agent and the hub say of it.
func (r *Reader) known(member, placement string, times []streams.CommandTime) (known trace.Known) {
	result, entry := r.results.Stored(member, placement)
	if known.Result = result; result != nil {
		known.Stored, known.Replayed = r.store.Conn.FromMachine(entry.Stored), entry.Replayed
	}
	if beat, stored := r.beats.Get(member); beat != nil && beat.Sent > 0 {
		known.Sent, known.Beat = time.UnixMilli(beat.Sent), r.store.Conn.FromMachine(stored.Stored)
	}
	if record, _, seen := r.records.Seen.Get(member); seen {
		known.State, known.LastSeen = record.State, record.LastSeen.Time
	}
	for _, one := range times {
		known.Commands = append(known.Commands, trace.Command{Order: one.Order, Stored: one.Stored})
	}
	return known
}
