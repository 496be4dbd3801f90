// Package show answers what people read: objects with their status, the fleet on one screen, why a member was picked, who
// has not confirmed, events and records as they are. It changes nothing. Package door serves its answers.
package show

import (
	"time"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// Options of a View.
type Options struct {
	Version    string // of the hub
	Thresholds schedule.Thresholds
	// Grace is for how long no rollout begins to count as standing still.
	Grace time.Duration
	// Uses are what the states of the nodes of each member take; nil is nobody knows.
	Uses func() map[string]watch.EventUse
	// Problems are those of where records are stored.
	Problems func() []api.Problem
	// Resealed is how much content has been sealed anew, and of how much.
	Resealed func() (done, of int64)
	// Due is told of content whose status changes at a time, as content.Key names it; nil: nobody waits for that.
	Due func(key string, at time.Time)
}

// View shows the records of one term of leadership.
type View struct {
	store      *store.Store
	records    *records.Tables
	options    Options
	statuses   *store.Table[api.PlacementStatus]
	identities *store.Table[api.Identity]
	// inventories are what agents say of their members, results of placements, drains of disruptions of nodes.
	inventories *watch.Values[api.MemberInventory]
	results     placed.Results
	drains      *watch.Values[api.DisruptionResult]
	// began is when this hub began to answer.
	began time.Time
	// board is what fleet answers, status what it last said of the fleet as a whole.
	board    *board
	status   kept
	selected *selected
	// deadlines are those of content that nothing selects.
	deadlines *deadlines
	// Departed remembers what members that left had not confirmed.
	Departed *Departed
}

// New returns a view of the records of a store.
func New(leader *store.Store, records *records.Tables, o Options) *View {
	a := leader.State.As(subjects.Door)
	v := &View{
		store: leader, records: records, options: o, Departed: newDeparted(), selected: newSelected(records),
		statuses: store.Reads[api.PlacementStatus](a, subjects.Statuses), identities: store.Reads[api.Identity](a, subjects.Identities),
		inventories: watch.ValuesOf[api.MemberInventory](leader.Inventories),
		results:     placed.ResultsOf(leader), drains: watch.ValuesOf[api.DisruptionResult](leader.Results),
	}
	v.board, v.deadlines = newBoard(v), newDeadlines(records)
	return v
}

// Begin notes when answers begin: from then on the hub hears of members.
func (v *View) Begin() { v.began = v.store.Now() }

// Inventory is what an agent says of its member, nil when it says nothing that can be read.
func (v *View) Inventory(member string) *api.MemberInventory {
	inventory, _ := v.inventories.Get(member)
	return inventory
}
