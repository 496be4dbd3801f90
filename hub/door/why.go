package door

import (
	"context"
	"time"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/schedule"
	"flotilla/core/status"
	"flotilla/core/why"
)

// explained is up to how many members each get the smallest change that would flip their verdict when
// all are asked for: looking for one decides the placement anew many times.
const explained = 32

// why explains verdicts of a placement as the scheduler would give them now.
func (d *Door) why(_ context.Context, request *api.WhyRequest) (any, error) {
	ref := api.ObjectRef{Kind: api.KindClusterResourcePlacement, Namespace: request.Namespace, Name: request.Placement}
	if request.Kind == api.KindResourcePlacement || request.Namespace != "" {
		ref.Kind = api.KindResourcePlacement
	}
	entry, found, err := d.find(ref)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, notFound(ref)
	}
	p, err := d.decoded.placement(&entry)
	if err != nil {
		return nil, err
	}
	now := d.store.Now()
	members, err := d.membersAfter(nil, now)
	if err != nil {
		return nil, err
	}
	d.withHeartbeats(members, now)
	subject := d.subject(p)
	in := subject.Input(schedule.NewFleet(members...), now, d.thresholds())
	if request.Member != "" {
		if failure := why.Unknown(in, request.Member); failure != nil {
			return nil, d.notAMember(request.Member, failure)
		}
		return d.withRollout(p, []why.Answer{why.Explain(in, request.Member)}), nil
	}
	return d.withRollout(p, explainAll(in)), nil
}

// withRollout adds how far each member has come.
func (d *Door) withRollout(p *api.Placement, answers []why.Answer) []why.Answer {
	standings := status.Standings(d.statusOf(p))
	for i := range answers {
		answers[i].Rollout = standings[answers[i].Member]
	}
	return answers
}

// withHeartbeats shows when members that count as alive were really heard of.
func (d *Door) withHeartbeats(members []api.Member, now time.Time) {
	for i := range members {
		record, _, seen := d.records.seen.Get(members[i].Name)
		if !seen || !members[i].LastHeartbeat.Equal(now) {
			continue
		}
		if last := d.lastSeen(&record).Time; now.Sub(last) < d.options.MemberTimeout {
			members[i].LastHeartbeat = last
		}
	}
}

// notAMember tells a member that only waits to be admitted from one that is not there.
func (d *Door) notAMember(name string, unknown *api.Failure) *api.Failure {
	if _, _, seen := d.records.seen.Get(name); seen {
		return d.missing(api.ObjectRef{Kind: api.KindMemberCluster, Name: name})
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

// subject is a stored placement with what is known of it.
func (d *Door) subject(p *api.Placement) plan.Subject {
	subject := plan.Subject{Placement: *p}
	var release *api.Release
	if found, _, ok := d.records.releases.Get(p.Key()); ok {
		release = &found
	}
	if current, _, ok := d.records.schedules.Get(p.Key()); ok && current.UID == string(p.UID) {
		subject.Existing = plan.Existing(&current, release, string(p.UID))
		if current.Policy == schedule.PolicyDigest(p.Spec.Policy) {
			subject.Evicted = current.Evicted
		}
	}
	return subject
}

func (d *Door) thresholds() schedule.Thresholds {
	return schedule.Thresholds{Heartbeat: d.options.MemberTimeout, Unhealthy: d.options.UnhealthyTimeout}
}
