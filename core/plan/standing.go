package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/rollout"
)

// plannedUID stands for the uid of a placement that files give none.
const plannedUID = "planned"

// memberTimeout is for how long a member may be silent unless the hub says otherwise.
const memberTimeout = 5 * time.Minute

// What files may leave open of a rollout.
const (
	noStatus  = "the files do not hold the placement with its status"
	noContent = "the files do not tell which content the members hold"
)

// Standings are how the members do at a moment, as files tell of them. Those that were silent for longer than
// timeout, 0 stands for 5 minutes, are Unknown since they were last heard of.
func (c *Collected) Standings(now time.Time, timeout time.Duration) map[string]Standing {
	timeout = cmp.Or(timeout, memberTimeout)
	standings := make(map[string]Standing, len(c.standings))
	for name, s := range c.standings {
		if s.State == "" && !s.Since.IsZero() && now.Sub(s.Since) > timeout {
			s.State = api.MemberUnknown
		}
		standings[name] = s
	}
	return standings
}

// allStandings are how the members do; the state of one that another hub exported is left to its heartbeat.
func (c *collector) allStandings() map[string]Standing {
	standings := make(map[string]Standing, len(c.members))
	for name, docs := range c.members {
		mc := docs.merged()
		member := api.MemberOf(mc)
		s := Standing{MemberView: rollout.MemberView{Leaving: member.Leaving}, Since: member.LastHeartbeat}
		if mc.Status != nil {
			s.State = mc.Status.State
		}
		if mc.Spec.DeleteOptions != nil {
			s.WhenLeaving = mc.Spec.DeleteOptions.WhenLeaving
		}
		standings[name] = s
	}
	return standings
}

// releasedOf reads how the rollout of a placement stands from its exported status: which snapshot each member
// has that holds the placement, and how it does with it.
func (c *collector) releasedOf(docs *placementDocs, s *Subject) Released {
	uid := string(cmp.Or(s.Placement.UID, plannedUID))
	latest := &api.Snapshot{UID: uid, Index: 1}
	change := Compare(&s.Placement, nil, c.index)
	if change != nil {
		latest.Error = change.Error
	}
	released := Released{Latest: latest}
	if len(s.Existing) == 0 {
		return released
	}
	if docs.status == nil {
		return Released{Unknown: noStatus}
	}
	if change != nil || !reflect.DeepEqual(docs.exported.Spec.ResourceSelectors, s.Placement.Spec.ResourceSelectors) {
		released.UnknownContent = noContent
	}
	if docs.status.Rollout != nil {
		released.Message = docs.status.Rollout.Message
	}
	released.Release = &api.Release{Placement: s.Placement.Key(), Step: 1}
	released.Results = map[string]*api.PlacementResult{}
	for i := range s.Existing {
		if s.Existing[i].State == api.BindingScheduled {
			continue
		}
		entry, result, unknown := entryOf(docs.status, s.Existing[i].Member, uid)
		if unknown != "" {
			return Released{Unknown: unknown}
		}
		if entry.Snapshot == 0 {
			released.UnknownContent = noContent
		}
		entry.Apply = docs.exported.Spec.Strategy.ApplyStrategy
		released.Release.Entries = append(released.Release.Entries, entry)
		released.Results[entry.Member] = result
	}
	if index := indexOf(docs.status.ObservedSnapshot); index > 0 {
		latest.Index, latest.Work = index, docs.status.ObservedSnapshot
	} else {
		released.UnknownContent = noContent
	}
	return released
}

// entryOf reads what one member holds and how it does with it; unknown says what the status does not tell.
func entryOf(status *api.PlacementStatus, member, uid string) (entry api.ReleaseEntry, result *api.PlacementResult, unknown string) {
	i := slices.IndexFunc(status.PlacementStatuses, func(m api.PerMemberStatus) bool { return m.ClusterName == member })
	if i < 0 {
		return entry, nil, fmt.Sprintf("the status of the placement does not tell of %s", member)
	}
	m := &status.PlacementStatuses[i]
	applied, available := conditionOf(m.Conditions, api.ConditionApplied), conditionOf(m.Conditions, api.ConditionAvailable)
	if applied == nil || applied.Status == metav1.ConditionTrue && available == nil {
		return entry, nil, fmt.Sprintf("the status of the placement does not tell how %s does with what it holds", member)
	}
	entry = api.ReleaseEntry{Member: member, UID: uid, Generation: 1, Snapshot: indexOf(m.ObservedResourceIndex), Work: m.ObservedResourceIndex}
	result = &api.PlacementResult{
		Member: member, UID: uid, Generation: 1, Applied: string(applied.Status), AppliedReason: applied.Reason, Changed: applied.LastTransitionTime,
	}
	if available != nil {
		result.Available, result.AvailableReason, result.Changed = string(available.Status), available.Reason, available.LastTransitionTime
	}
	return entry, result, ""
}

func conditionOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// indexOf reads the index of a snapshot, 0 when there is none.
func indexOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
