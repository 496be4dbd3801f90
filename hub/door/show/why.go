package show

import (
	"context"
	"time"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/schedule"
	"flotilla/core/status"
	"flotilla/core/why"
	"flotilla/hub/door/records"
)

// explained is up to how many members each get the smallest change that would flip their verdict when
// all are asked for: looking for one decides the placement anew many times.
const explained = 32

// Why explains verdicts of a placement as the scheduler would give them now.
func (v *View) Why(_ context.Context, request *api.WhyRequest) (any, error) {
	ref := api.ObjectRef{Kind: api.KindClusterResourcePlacement, Namespace: request.Namespace, Name: request.Placement}
	if request.Kind == api.KindResourcePlacement || request.Namespace != "" {
		ref.Kind = api.KindResourcePlacement
	}
	entry, found, err := v.find(ref)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, records.NotFound(ref)
	}
	p, err := v.records.Placement(&entry)
	if err != nil {
		return nil, err
	}
	now := v.store.Now()
	members, err := v.records.MembersAfter(nil, now)
	if err != nil {
		return nil, err
	}
	v.withHeartbeats(members, now)
	subject := v.Subject(p)
	in := subject.Input(schedule.NewFleet(members...), now, v.options.Thresholds)
	if request.Member != "" {
		if failure := why.Unknown(in, request.Member); failure != nil {
			return nil, v.notAMember(request.Member, failure)
		}
		return v.withRollout(p, []why.Answer{why.Explain(in, request.Member)}), nil
	}
	return v.withRollout(p, explainAll(in)), nil
}

// withRollout adds how far each member has come.
func (v *View) withRollout(p *api.Placement, answers []why.Answer) []why.Answer {
	standings := status.Standings(v.StatusOf(p))
	for i := range answers {
		answers[i].Rollout = standings[answers[i].Member]
	}
	return answers
}

// withHeartbeats shows when members that count as alive were really heard of.
func (v *View) withHeartbeats(members []api.Member, now time.Time) {
	for i := range members {
		record, _, seen := v.records.Seen.Get(members[i].Name)
		if !seen || !members[i].LastHeartbeat.Equal(now) {
			continue
		}
		if last := v.lastSeen(&record).Time; now.Sub(last) < v.options.Thresholds.Heartbeat {
			members[i].LastHeartbeat = last
		}
	}
}

// notAMember tells a member that only waits to be admitted from one that is not there.
func (v *View) notAMember(name string, unknown *api.Failure) *api.Failure {
	if _, _, seen := v.records.Seen.Get(name); seen {
		return v.records.Missing(api.ObjectRef{Kind: api.KindMemberCluster, Name: name})
	}
	return unknown
}

// explainAll explains every verdict, those beyond the first without looking for a change that flips it.
func explainAll(in schedule.Input) []why.Answer {
	verdicts := schedule.Schedule(in).Verdicts
	answers := make([]why.Answer, verdicts.Len())
	for i := range answers {
		verdict := verdicts.Row(i)
		if i < explained {
			answers[i] = why.Explain(in, verdict.Member)
			continue
		}
		answers[i] = why.Answer{
			Placement: in.Placement, Type: in.Policy.Type(), Member: verdict.Member, Verdict: verdict, Checks: []schedule.Check{},
			NoFlip: "not looked for among so many members: ask with --member " + verdict.Member,
		}
	}
	return answers
}

// Subject is a stored placement with what is known of it.
func (v *View) Subject(p *api.Placement) plan.Subject {
	subject := plan.Subject{Placement: *p}
	var release *api.Release
	if found, _, ok := v.records.Releases.Get(p.Key()); ok {
		release = &found
	}
	if current, _, ok := v.records.Schedules.Get(p.Key()); ok && current.UID == string(p.UID) {
		subject.Existing, subject.Drained = plan.Existing(&current, release, string(p.UID)), current.Drained
		if current.Policy == schedule.PolicyDigest(p.Spec.Policy) {
			subject.Evicted = current.Evicted
		}
	}
	return subject
}
