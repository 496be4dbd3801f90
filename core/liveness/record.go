package liveness

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Plan is what to do about the record of one member.
type Plan struct {
	// Record is to be written when Write.
	Record api.MemberRecord
	Write  bool
	// Remove says that there is nothing left to tell: neither a spec nor an agent. What is left of
	// both, the record and the last heartbeat, is to be removed.
	Remove bool
	// Recheck is when time alone may change the answer; zero when only news can.
	Recheck time.Time
	// Events are for the audit stream, once the record is written where it is to be.
	Events []api.Audit
	// Following is the next Input's, once all of this is done.
	Following Following
}

// Record makes the record of a member. It is to be written when its state, its labels or anything
// else that decisions depend on changed, at once; for properties, node count and the like alone, not
// before Thresholds.Properties have passed since Written. LastSeen alone is no reason to write. Of what the
// member causes by itself, no more than Thresholds.Changes is followed.
func Record(in Input) Plan {
	following := in.Following
	p, held := in.follow(&following)
	p.Events = append(p.Events, in.tell(&following, held, p.Remove)...)
	if !following.heldSince.IsZero() {
		p.Recheck = earlier(p.Recheck, following.Rests(in.Now))
	}
	p.Following = following
	return p
}

// plan is what to do by the heartbeat that it is given.
func (in *Input) plan() Plan {
	if in.Spec == nil && in.abandoned() {
		return in.remove()
	}
	v := Judge(*in)
	r := in.record(v)
	p := Plan{Record: r, Recheck: v.Recheck}
	switch compare(in.Previous, &r) {
	case differs:
		p.Write = true
	case moves:
		due := in.Written.Add(in.Thresholds.Properties)
		if p.Write = !in.Now.Before(due); !p.Write {
			p.Recheck = earlier(p.Recheck, due)
		}
	}
	if p.Write && in.turned(&r) {
		p.Events = []api.Audit{in.event(&r)}
	}
	if p.Write {
		p.Events = append(p.Events, in.unreadableProperties(&r)...)
		p.Events = append(p.Events, in.missingPermissions(&r)...)
		p.Events = append(p.Events, in.misnamed(&r)...)
		p.Events = append(p.Events, in.tooMany(&r)...)
	}
	return p
}

// turned says that the state of the member is another, or that two agents prove themselves as it, or do so no more.
func (in *Input) turned(r *api.MemberRecord) bool {
	p := in.Previous
	return p == nil || p.State != r.State || (p.Reason == ReasonTwoAgents) != (r.Reason == ReasonTwoAgents)
}

// abandoned says that no agent speaks for a member that nobody admitted, or not any more.
func (in *Input) abandoned() bool {
	return in.Heartbeat == nil || in.silent() && !in.graced()
}

func (in *Input) remove() Plan {
	p := Plan{Remove: true}
	if in.Previous != nil {
		p.Events = []api.Audit{in.audit("Normal", "MemberGone", "neither a spec nor an agent is left")}
	}
	return p
}

func (in *Input) record(v Verdict) api.MemberRecord {
	r := api.MemberRecord{Header: api.NewHeader(api.KindMemberRecord), Name: in.Name}
	if in.Previous != nil {
		r = *in.Previous
		r.Header = api.NewHeader(api.KindMemberRecord)
	}
	if r.State != v.State {
		r.Since = metav1.NewTime(in.Now).Rfc3339Copy()
	}
	r.State, r.Reason, r.Message = v.State, v.Reason, v.Message
	r.UID = ""
	if in.Spec != nil {
		r.UID = string(in.Spec.UID)
	}
	offered := in.known()
	if in.Heartbeat != nil {
		offered = in.hear(&r)
	}
	r.Labels, r.OfferedLabels = Labels(in.Name, in.Spec, offered)
	return r
}

// known are the labels that an agent whose heartbeat is lost is known to have offered.
func (in *Input) known() map[string]string {
	if in.Heartbeat != nil || in.Previous == nil {
		return nil
	}
	known := map[string]string{}
	maps.Copy(known, in.Previous.OfferedLabels)
	allowed := allowedKeys(in.Spec)
	for key, value := range in.Previous.Labels {
		if api.AllowsLabel(allowed, key) {
			known[key] = value
		}
	}
	return known
}

// hear takes over what the agent says, and returns those of its labels that count.
func (in *Input) hear(r *api.MemberRecord) (offered map[string]string) {
	h, misnamed := named(in.Heartbeat)
	healthy := "False"
	if h.Healthy {
		healthy = "True"
	}
	if r.Healthy != healthy {
		r.Healthy, r.HealthySince = healthy, metav1.NewTime(in.Now).Rfc3339Copy()
	}
	if r.State != api.MemberUnknown || in.Previous == nil || in.Previous.State != api.MemberUnknown {
		r.LastSeen = metav1.NewTime(in.lastSeen()).Rfc3339Copy()
	}
	properties := Properties(h.Properties)
	r.Properties, r.Excess = counting(properties, everyAgentStates), excessOf(h.Labels, properties)
	r.Namespaces = slices.Sorted(slices.Values(h.Namespaces))
	r.AgentVersion, r.AgentLevel = h.AgentVersion, h.Level
	r.KubernetesVersion, r.Nodes = h.KubernetesVersion, h.Nodes
	r.Holds = h.Holds
	r.Unlisted = slices.Sorted(slices.Values(h.Unlisted))
	r.Renewal = h.Renewal
	r.Forbidden = slices.Sorted(slices.Values(h.Forbidden))
	r.Misnamed = misnamed
	return counting(h.Labels, mayState(in.Spec))
}

// difference grades a change of a record.
type difference int

const (
	same    difference = iota
	moves              // only what moves all the time
	differs            // what decisions depend on
)

// compare grades how a record differs from the one before, nil when there is none.
func compare(p, r *api.MemberRecord) difference {
	switch {
	case p == nil:
		return differs
	case p.UID != r.UID, p.State != r.State, p.Reason != r.Reason, p.Message != r.Message, p.Healthy != r.Healthy,
		p.Renewal != r.Renewal, p.AgentVersion != r.AgentVersion, p.AgentLevel != r.AgentLevel, p.KubernetesVersion != r.KubernetesVersion,
		!maps.Equal(p.Labels, r.Labels), !maps.Equal(p.OfferedLabels, r.OfferedLabels),
		!slices.Equal(p.Namespaces, r.Namespaces), !slices.Equal(p.Unlisted, r.Unlisted), !slices.Equal(p.Forbidden, r.Forbidden),
		(len(p.Misnamed) == 0) != (len(r.Misnamed) == 0), (p.Excess == nil) != (r.Excess == nil):
		return differs
	case p.Nodes != r.Nodes, p.Holds != r.Holds, !maps.Equal(p.Properties, r.Properties), !slices.Equal(p.Misnamed, r.Misnamed),
		p.Excess != nil && *p.Excess != *r.Excess:
		return moves
	}
	return same
}

func (in *Input) event(r *api.MemberRecord) api.Audit {
	kind, from := "Normal", "new"
	if r.State == api.MemberNotReady || r.State == api.MemberUnknown {
		kind = "Warning"
	}
	if in.Previous != nil {
		from = string(in.Previous.State)
	}
	return in.audit(kind, "Member"+string(r.State), fmt.Sprintf("%s, was %s: %s", r.State, from, r.Message))
}

// audit is an event about the member.
func (in *Input) audit(kind, reason, message string) api.Audit {
	return api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(in.Now).Rfc3339Copy(), Object: api.AuditObject(api.AuditMember, in.Name),
		Type: kind, Reason: reason, Message: message, By: "registrar", Member: in.Name,
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
