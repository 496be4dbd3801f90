// Package planner answers what would happen: the same decisions on the same records as an apply and the rooms after it, and
// nothing is changed.
package planner

import (
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/core/schedule"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/records"
	"flotilla/hub/door/show"
)

// Planner plans on the records of one term of leadership.
type Planner struct {
	store      *store.Store
	desk       *draft.Desk
	records    *records.Tables
	view       *show.View
	thresholds schedule.Thresholds
	lanes      loop.Lanes // in which people's drafts are made
}

// New returns a planner of what is drafted at a desk; thresholds are the scheduler's.
func New(leader *store.Store, desk *draft.Desk, tables *records.Tables, view *show.View, thresholds schedule.Thresholds) *Planner {
	return &Planner{store: leader, desk: desk, records: tables, view: view, thresholds: thresholds, lanes: loop.Lanes{Wide: mostDrafting, Most: mostWaiting}}
}
