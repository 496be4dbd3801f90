package store

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/census"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/subjects"
)

// Store is everything a leader works with. It lives as long as the context it was opened with.
type Store struct {
	Conn   *bus.Conn
	Term   api.Term
	State  *State
	Writer *Writer
	Caches
	Content *streams.Content
	// Keys are the secrets of this term.
	Keys     *seal.Keyring
	Commands *streams.Commands
	Audit    *streams.Audit
	Layout   streams.LayoutReport
	// Damage is set when records of state are gone. Then nothing may be done with the store but to show what
	// is left, and to say how to go on.
	Damage *census.Damage

	leads   func() bool
	running sync.WaitGroup
	ledger  *ledger
	// closeLedger returns when all that is known to be stored is entered into the ledger.
	closeLedger func()
}

// Caches hold what agents write.
type Caches struct {
	Heartbeats *watch.Cache // keys: <member>; Decode[api.Heartbeat]
	Results    *watch.Cache // keys: subjects.ResultKey; Decode[api.PlacementResult] of placements
	// ResultBatches are what Results come in.
	ResultBatches *watch.ResultBatches
	// Inventories by member; Decode[api.MemberInventory].
	Inventories *watch.Cache
}

// Share is what one member may store.
func (s *Store) Share() bus.Share { return s.Layout.Options.Share.WithDefaults() }

// Leads says whether this hub leads at this moment, by the lease and its own clock: also where a
// process that was stopped goes on, before anything else has noticed.
func (s *Store) Leads() bool { return s.leads() }

// OpenStore opens a store under a term that is already written, and runs its watchers until ctx ends; Lead calls
// it. It returns when everything is synced.
func OpenStore(ctx context.Context, c *bus.Conn, taken Taken, keys *seal.Keyring) (*Store, error) {
	replicas, err := streamReplicas(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	state := NewState(c)
	writer, err := newWriter(state, taken, replicas)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	writer.over = ctx.Done()
	commands, err := streams.NewCommands(c, keys)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	s := &Store{
		Conn: c, Term: taken.Term, State: state,
		Writer:   writer,
		Caches:   Caches{Heartbeats: watch.NewCache(c, subjects.Heartbeat), Inventories: watch.NewInventories(c)},
		Content:  streams.NewContent(c, keys),
		Keys:     keys,
		Commands: commands,
		Audit:    streams.NewAudit(c),

		closeLedger: func() {},
	}
	s.Results, s.ResultBatches = watch.NewResults(c)
	for _, run := range []func(context.Context){state.Run, s.Heartbeats.Run, s.ResultBatches.Run, s.Inventories.Run} {
		s.running.Go(func() { run(ctx) })
	}
	s.running.Go(func() { s.Audit.Run(context.WithoutCancel(ctx)) })
	for _, wait := range []func(context.Context) error{
		state.WaitSynced, s.Heartbeats.WaitSynced, s.Results.WaitSynced, s.Inventories.WaitSynced,
	} {
		if err := wait(ctx); err != nil {
			s.Wait()
			return nil, fmt.Errorf("opening the store: %w", err)
		}
	}
	return s, nil
}

// WriteTold writes operations and tells of them, once they are made. The events stand before those of
// whoever acts on what was written: rooms see a record before its writer learns that it was made.
func (s *Store) WriteTold(ctx context.Context, events []api.Audit, ops ...Op) (revisions []uint64, err error) {
	settle, err := s.Audit.Announce(events...)
	if err != nil {
		return nil, err
	}
	defer func() { settle(err == nil) }()
	return s.Writer.Write(context.WithoutCancel(ctx), ops...) // only to the end it is known whether to tell of it
}

// Synced says that State and all caches hold everything since the last (re)connect.
func (s *Store) Synced() bool {
	return s.State.Synced() && s.Heartbeats.Synced() && s.Results.Synced() && s.Inventories.Synced()
}

// Wait returns when all goroutines of the store ended, after its context did. Nothing is written any more then, and what
// was written is told.
func (s *Store) Wait() {
	s.Writer.close()
	s.Audit.End()
	s.running.Wait()
}

// Sealing says which secrets stored content is sealed with: the first seals now, there are others while content is
// sealed anew.
func (s *Store) Sealing() (api.Sealing, error) {
	found, _, err := s.layoutRecord()
	return found.Sealing, err
}

// Resealed notes that all content is sealed with the secret that seals now, so that the others are not needed any more.
func (s *Store) Resealed(ctx context.Context) error {
	found, revision, err := s.layoutRecord()
	if err != nil {
		return err
	}
	found.Sealing.Content = streams.Sealing(s.Keys).Content[:1]
	_, err = s.Writer.Write(ctx, Put(subjects.LayoutKey, found, revision))
	return err
}

// layoutRecord reads the record of the layout, empty where there is none.
func (s *Store) layoutRecord() (found api.Layout, revision uint64, err error) {
	raw, revision, ok := s.State.Raw(subjects.LayoutKey)
	if ok {
		if err := bus.Decode(raw, bus.RecordBounds, &found); err != nil {
			return found, revision, fmt.Errorf("the layout record: %w", err)
		}
	}
	return found, revision, nil
}

// recordLayout keeps the number of the layout and the names of the secrets, so that neither an older hub
// competes nor one that could not open what is stored.
func (s *Store) recordLayout(ctx context.Context) error {
	found, revision, err := s.layoutRecord()
	if err != nil {
		return err
	}
	if err := streams.CheckSecrets(&found, s.Keys); err != nil {
		return err
	}
	wanted := api.Layout{Header: api.NewHeader(api.KindLayout), Step: max(found.Step, s.Layout.Step), Format: api.StateFormat, Sealing: streams.SealingInUse(&found.Sealing, s.Keys)}
	if reflect.DeepEqual(found, wanted) {
		return nil
	}
	_, err = s.Writer.Write(ctx, Put(subjects.LayoutKey, wanted, revision))
	return err
}

func streamReplicas(ctx context.Context, c *bus.Conn) (int, error) {
	stream, err := c.JS.Stream(ctx, c.Fleet.BucketStream(subjects.State))
	if err != nil {
		return 0, err
	}
	return stream.CachedInfo().Config.Replicas, nil
}

// Records is how many records state holds.
func (s *Store) Records() int { return int(census.TallyOf(s.State.mirror.All()).Count) }

// Now is the clock of the hub's process.
func (s *Store) Now() time.Time { return s.Conn.Now() }
