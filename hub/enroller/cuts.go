package enroller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// aftermath is how long after a revocation what was on its way then has arrived, and is removed too.
const aftermath = 5 * time.Second

// cuts has servers refuse keys that are not the agent's any more, and removes what revoked agents stored. It works
// apart from who answers agents: servers may be slow to answer, or away.
type cuts struct {
	store   *store.Store
	options Options
	records *store.Table[api.Identity]
	queue   *loop.Queue
	// refused are keys that servers were told of, and freed the times of the revocations after which it was removed
	// what there was; the queue has one worker.
	refused map[string]bool
	freed   map[string]time.Time
}

func newCuts(store *store.Store, o Options, records *store.Table[api.Identity]) *cuts {
	c := &cuts{
		store: store, options: o, records: records,
		refused: map[string]bool{}, freed: map[string]time.Time{},
	}
	c.queue = loop.New(loop.Options{Now: store.Now, Failed: c.failed})
	return c
}

func (c *cuts) failed(member string, err error, delay time.Duration) {
	c.options.Log.Warn().Err(err).Str("member", member).Dur("retry", delay).Msg("refusing an agent")
}

func (c *cuts) work(ctx context.Context, member string) (time.Time, error) {
	record, _, _, err := c.records.Find(member)
	if err != nil {
		return time.Time{}, err
	}
	for _, key := range record.Former {
		if err := c.refuse(member, key); err != nil {
			return time.Time{}, fmt.Errorf("refusing a former key: %w", err)
		}
	}
	return c.clear(ctx, &record)
}

// refuse has servers refuse a key, once in a term. Where they are not to be told by the hub, the log says so.
func (c *cuts) refuse(member, key string) error {
	if c.options.Revoke == nil || c.refused[key] {
		return nil
	}
	err := c.options.Revoke(subjects.AccountAgents, key)
	if elsewhere, ok := errors.AsType[*bus.NotRevokedError](err); ok {
		c.options.Log.Warn().Str("member", member).Str("next", bus.RevokeCommand(elsewhere.Account, elsewhere.Key)).Msg(elsewhere.Error())
		err = nil
	}
	c.refused[key] = err == nil
	return err
}

// clear removes what a revoked agent stored, until all of it has arrived, once in a term.
func (c *cuts) clear(ctx context.Context, record *api.Identity) (time.Time, error) {
	if record.Revoked == nil || c.freed[record.Name].Equal(record.Revoked.Time) {
		return time.Time{}, nil
	}
	if err := c.free(ctx, record.Name); err != nil {
		return time.Time{}, fmt.Errorf("removing what it stored: %w", err)
	}
	if due := record.Revoked.Add(aftermath); c.store.Now().Before(due) {
		return due, nil
	}
	c.freed[record.Name] = record.Revoked.Time
	return time.Time{}, nil
}

// free removes what the hub has seen that a member stored.
func (c *cuts) free(ctx context.Context, member string) error {
	if !c.store.Heartbeats.Synced() || !c.store.Inventories.Synced() || !c.store.Results.Synced() {
		return bus.ErrNotSynced
	}
	for _, purge := range []func(context.Context, string) error{
		c.store.Heartbeats.Purge, c.store.Inventories.Purge, c.store.ResultBatches.PurgeMember, c.options.PurgeNodes,
	} {
		if purge == nil {
			continue
		}
		if err := purge(ctx, member); err != nil {
			return err
		}
	}
	return nil
}
