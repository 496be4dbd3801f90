package past

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Input is all that is known of a placement. Nothing in it is changed.
type Input struct {
	Name string
	// Spec is what is stored of it, nil when there is no such placement now.
	Spec *api.Spec
	// Schedule is nil while there is none.
	Schedule *api.Schedule
	// Snapshots are those that are kept, oldest first.
	Snapshots []*api.Snapshot
	// Told are its events, oldest first, KeptFrom is from when on there are all.
	Told     []api.Told
	KeptFrom time.Time
	// Since and Limit bound the entries, At is when the placement is asked for; zero for now alone.
	Since time.Time
	Limit int
	At    time.Time
}

// Of tells the history of a placement.
func Of(in Input) api.Past {
	out := api.Past{Placement: in.Name, KeptFrom: seconds(in.KeptFrom), Gone: in.Spec == nil, Entries: []api.PastEntry{}}
	all := entries(&in, in.Told)
	if in.Spec != nil {
		out.Whole = !in.KeptFrom.Truncate(time.Second).After(in.Spec.Created.Time)
	} else {
		out.Whole = len(all) > 0 && all[0].Reason == "Created"
	}
	for _, e := range all {
		if !e.At.Time.Before(in.Since.Truncate(time.Second)) {
			out.Entries = append(out.Entries, e)
		}
	}
	limit := in.Limit
	if limit <= 0 {
		limit = api.DefaultPast
	}
	if out.Left = max(0, len(out.Entries)-min(limit, api.MaxPast)); out.Left > 0 {
		out.Entries = slices.Clone(out.Entries[out.Left:])
	}
	if !in.At.IsZero() {
		then := at(&in)
		out.Then = &then
	}
	return out
}

func seconds(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.UTC().Truncate(time.Second))
}

// whats is what events tell, by their reason; "" is told of elsewhere, or of no use here.
var whats = map[string]string{
	"Deleting": api.PastDeleting, "Deleted": api.PastDeleted, "DeletedUnconfirmed": api.PastDeleted,
	"SnapshotCut":  api.PastSnapshot,
	"MemberPicked": api.PastPicks, "MemberRemoved": api.PastPicks, "MembersChanged": api.PastPicks,
	"SchedulingPolicyUnfulfilled": api.PastUnmet, "SchedulingPolicyFulfilled": api.PastMet,
	"PlacementReleased": api.PastBegun, "PlacementRolloutCompleted": api.PastEnded,
	"RolloutUndone": api.PastUndone, "RolloutPaused": api.PastPaused, "RolloutResumed": api.PastResumed, "RolloutFollows": api.PastResumed,
	"RolloutRestarted":        api.PastRestarted,
	"PlacementRolloutStarted": "", "PlacementOverriddenSucceeded": "", "PlacementWorkSynchronized": "", "PlacementApplied": "",
	"PlacementAvailable": "", "PlacementDiffReported": "", "PlacementWithdrawn": "", "PlacementWithdrawalConfirmed": "",
}

// what says what an event tells, "" for what is left out.
func what(e *api.Told) string {
	known, listed := whats[e.Reason]
	switch {
	case listed:
		return known
	case changesSpec(e):
		return api.PastApplied
	case e.Type == "Warning":
		return api.PastTrouble
	}
	return ""
}

// changesSpec says that an event tells of a spec that was stored.
func changesSpec(e *api.Told) bool { return e.Generation != 0 && e.By != "scheduler" }

// ends says that there was no placement any more.
func ends(e *api.Told) bool { return whats[e.Reason] == api.PastDeleted }

// entries are what events tell; of the releases of one snapshot only the first.
func entries(in *Input, told []api.Told) []api.PastEntry {
	var out []api.PastEntry
	begun := int64(0)
	for i := range told {
		e := &told[i]
		kind := what(e)
		if kind == api.PastBegun {
			if e.Snapshot == begun {
				continue
			}
			begun = e.Snapshot
		}
		if ends(e) {
			begun = 0
		}
		if kind != "" {
			out = append(out, in.entry(e, kind))
		}
	}
	return out
}

// entry tells of an event. Of a snapshot that is kept it says who caused it.
func (in *Input) entry(e *api.Told, kind string) api.PastEntry {
	out := api.PastEntry{
		At: seconds(e.Stored), What: kind, Reason: e.Reason, By: e.By, Request: e.Request, Generation: e.Generation, Snapshot: e.Snapshot,
		Picks: e.Picks, Message: e.Message,
	}
	if kind == api.PastSnapshot && in.Spec != nil && !e.Stored.Before(in.Spec.Created.Time) {
		at := slices.IndexFunc(in.Snapshots, func(s *api.Snapshot) bool { return s.Index == e.Snapshot && s.By != "" })
		if at >= 0 {
			out.By = in.Snapshots[at].By
		}
	}
	return out
}
