package reporter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/subjects"
)

// tidy purges the results of withdrawals that the roller has confirmed: the member has no entry in the
// release any more.
func (r *Reporter) tidy(ctx context.Context, placement string) error {
	members := r.answers.to(placement)
	if len(members) == 0 {
		return nil
	}
	release, _, _, err := r.records.releases.Find(placement)
	if err != nil {
		return err
	}
	for _, member := range members {
		key := subjects.ResultKey(member, subjects.CommandPlacement, placement)
		result, _ := r.records.results.Get(key)
		if result == nil || !result.Withdrawn || holds(&release, member) {
			continue
		}
		if err := r.store.Results.Purge(ctx, key); err != nil {
			return fmt.Errorf("purging a confirmed withdrawal: %w", err)
		}
	}
	return nil
}

func holds(release *api.Release, member string) bool {
	return slices.ContainsFunc(release.Entries, func(e api.ReleaseEntry) bool { return e.Member == member })
}

// sweep purges results that belong to no member or placement, each after two sweeps in a row found it
// so: what is just being made must not be taken for what was left behind.
func (r *Reporter) sweep(ctx context.Context) (time.Time, error) {
	next := r.store.Now().Add(r.options.Sweep)
	before := r.suspect
	r.suspect = map[string]struct{}{}
	for _, key := range r.store.Results.Keys("") {
		if r.known(key) {
			continue
		}
		if _, twice := before[key]; !twice {
			r.suspect[key] = struct{}{}
			continue
		}
		if err := r.store.Results.Purge(ctx, key); err != nil {
			return time.Time{}, fmt.Errorf("sweeping results: %w", err)
		}
		r.options.Log.Info().Str("key", key).Msg("result of nothing known is purged")
	}
	return next, nil
}

// known says that a result may still be needed: its member is part of the fleet, and its placement has
// a spec or a release, its update run a spec or a status, or its disruption is one of its member's.
func (r *Reporter) known(key string) bool {
	member, kind, name, ok := subjects.ParseResultKey(key)
	if !ok || !slices.Contains(subjects.CommandKinds(), kind) {
		return false
	}
	exists := func(key string) bool { return r.store.State.Revision(key) != 0 } // whether it can be read or not
	if !exists(r.records.members.Key(member)) {
		return false
	}
	switch kind {
	case subjects.CommandPlacement:
		return exists(r.records.placements.Key(name)) || exists(r.records.releases.Key(name))
	case subjects.CommandUpgrade:
		return exists(subjects.RunSpecs.Key(name)) || exists(subjects.Runs.Key(name))
	default:
		return r.disrupts(member, name)
	}
}

// disrupts says that a disruption may be in its member's record.
func (r *Reporter) disrupts(member, id string) bool {
	record, _, found, err := r.records.disruptions.Find(member)
	return err != nil || found && slices.ContainsFunc(record.Disruptions, func(d api.Disruption) bool { return d.ID == id })
}
