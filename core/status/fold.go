package status

import (
	"cmp"
	"slices"
	"time"

	"flotilla/core/api"
)

// Source is what is known of a member now: its newest result about the placement, nil when there is none, and how
// it does.
type Source func(member string) (*api.PlacementResult, Member)

// Fold is what is known of one placement, folded member by member: news of one member costs no look at the others.
// What it says is what Follow says of the same input.
type Fold struct{ e evaluation }

// NewFold folds what known says of each member that the schedule or the release names. Results, Members and Previous
// of the input are not read.
func NewFold(in Input, known Source) *Fold {
	in.Results, in.Members, in.Previous = nil, nil, nil
	f := &Fold{e: evaluation{in: in}}
	f.e.read(known)
	return f
}

// Hear folds in what is known of a member now.
func (f *Fold) Hear(member string, result *api.PlacementResult, state Member) {
	if i, found := f.e.find(member); found {
		v := &f.e.views[i]
		f.e.change(v, func() { f.e.hear(v, result, state) })
	}
	for i := range f.e.leavers {
		if l := &f.e.leavers[i]; l.entry.Member == member {
			l.result, l.state = result, state
		}
	}
}

// Settled says that nothing is on its way: what is known will not be something else within a moment.
func (f *Fold) Settled(now time.Time) bool {
	f.at(now)
	e := &f.e
	decided := e.schedule != nil && e.latest != nil && e.schedule.Generation >= e.in.Placement.Generation
	return decided && e.tally[isPending] == 0 && len(e.leavers) == 0
}

// Follow is the record of the placement at a time, and when time alone will change it; previous is the record as it
// stands, nil while there is none. The record belongs to the caller.
func (f *Fold) Follow(previous *api.PlacementStatus, judgeFrom, now time.Time) (api.PlacementStatus, time.Time) {
	f.since(previous, judgeFrom, now)
	return f.e.follow()
}

// Show is the record with the entries of all members, brief with those of none.
func (f *Fold) Show(previous *api.PlacementStatus, judgeFrom, now time.Time, brief bool) api.PlacementStatus {
	f.since(previous, judgeFrom, now)
	st := f.e.summary()
	if !brief {
		st.PlacementStatuses = f.e.entries()
	}
	return st
}

// since goes on from a record to a time.
func (f *Fold) since(previous *api.PlacementStatus, judgeFrom, now time.Time) {
	f.at(now)
	f.e.in.JudgeFrom, f.e.previous = judgeFrom, nil
	if previous != nil && previous.UID == string(f.e.in.Placement.UID) {
		f.e.previous = previous
	}
}

// at goes on to a time: what time alone changes of members is derived anew.
func (f *Fold) at(now time.Time) {
	e := &f.e
	e.in.Now = now
	for i := 0; i < len(e.views) && e.tally[isTimed] > 0; i++ {
		if v := &e.views[i]; v.waitsOut() {
			e.change(v, func() { e.look(v) })
		}
	}
}

// change moves the tally by what a change of a view makes of its worth.
func (e *evaluation) change(v *view, how func()) {
	before := e.worth(v)
	how()
	after := e.worth(v)
	e.tally.add(&before, -1)
	e.tally.add(&after, 1)
}

func (e *evaluation) find(member string) (at int, found bool) {
	return slices.BinarySearchFunc(e.views, member, func(v view, name string) int { return cmp.Compare(v.member, name) })
}
