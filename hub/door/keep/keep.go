// Package keep keeps the content that the door stores: it removes what nothing refers to any more, and seals what is left
// anew after a rotation of secrets.
package keep

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"flotilla/bus/disk"
	"flotilla/bus/store"
	"flotilla/hub/door/records"
)

// Keeper keeps content for one term of leadership.
type Keeper struct {
	store   *store.Store
	records *records.Tables
	room    func() disk.Room
	log     zerolog.Logger
	// done of of have been sealed anew.
	done, of atomic.Int64
}

// New returns a keeper of the content that records refer to; room is what the servers have.
func New(leader *store.Store, tables *records.Tables, room func() disk.Room, log zerolog.Logger) *Keeper {
	return &Keeper{store: leader, records: tables, room: room, log: log}
}

// Run keeps content until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { k.sweepAlways(ctx) })
	both.Go(func() { k.resealAlways(ctx) })
	both.Wait()
}

// Resealed is how much content has been sealed with the newest secret, and of how much.
func (k *Keeper) Resealed() (done, of int64) { return k.done.Load(), k.of.Load() }
