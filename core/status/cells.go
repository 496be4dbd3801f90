package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Cell is where one member stands with a placement: what its entry in Show says, in short. Since and Message are of those
// that are not where they should be, of which States counts all.
type Cell struct {
	// Member is empty for one that is missing.
	Member string
	// State is one of the Entry constants.
	State   string
	Since   metav1.Time
	Message string
}

// Cells are where the members stand: state is told of each that is bound, and of each that withdraws; troubled are the
// first of those that are not available, the missing ones last, and left is how many more of them there are.
func (f *Fold) Cells(previous *api.PlacementStatus, judgeFrom, now time.Time, most int, state func(member, state string)) (troubled []Cell, left int) {
	f.since(previous, judgeFrom, now)
	e := &f.e
	before, missing := e.previousEntries(), e.missing()
	for i := range e.views {
		v := &e.views[i]
		word := e.word(v)
		state(v.member, word)
		switch {
		case word == api.EntryAvailable || word == api.EntrySame:
		case len(troubled) == most:
			left++
		default:
			troubled = append(troubled, cellOf(e.row(v, before)))
		}
	}
	for _, m := range missing {
		if len(troubled) == most {
			left++
			continue
		}
		troubled = append(troubled, cellOf(e.missingRow(m, before)))
	}
	f.withdrawing(state)
	return troubled, left
}

func cellOf(row api.PerMemberStatus) Cell {
	return Cell{row.ClusterName, row.State, row.Since, row.Message}
}

// withdrawing tells of members that are to give the placement up, but for those that it goes to again.
func (f *Fold) withdrawing(state func(member, state string)) {
	leavers := make([]string, 0, len(f.e.leavers))
	for i := range f.e.leavers {
		if _, bound := f.e.find(f.e.leavers[i].entry.Member); !bound {
			leavers = append(leavers, f.e.leavers[i].entry.Member)
		}
	}
	slices.Sort(leavers)
	for _, member := range slices.Compact(leavers) {
		state(member, api.EntryWithdrawing)
	}
}
