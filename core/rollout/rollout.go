package rollout

import (
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
)

// Input is everything a decision depends on. Nothing in it is changed.
type Input struct {
	// Placement is the decoded placement, deleting when its DeletionTimestamp is set. A Placement
	// without UID stands for one whose spec is gone: what is left of it is withdrawn.
	Placement api.Placement
	// Schedule, Release and Latest are nil while they do not exist. A schedule or snapshot of
	// another uid is ignored.
	Schedule *api.Schedule
	Release  *api.Release
	// Latest is the newest snapshot; one with an Error moves nothing.
	Latest *api.Snapshot
	// Grants is what a staged run lets go out of Latest, where the strategy is External; nil while none is under way.
	Grants *Grants
	// Checks are what Latest goes out under.
	Checks Checks
	// Overrides are those that change objects of Latest, as render.Touching has them; Rendered is what they come to, nil
	// while that is not known. Without any each member gets the work of the snapshot.
	Overrides []api.OverrideVersion
	Rendered  *api.Rendered
	// Results are the newest results by member.
	Results map[string]*api.PlacementResult
	// Members are all members a binding or an entry names; one that is missing here is taken for a
	// member that nobody has heard of yet.
	Members map[string]MemberView
	// Frozen says who froze placements, or the fleet, empty where nobody did: no member moves, as while the placement is paused.
	Frozen string
	// Guard bounds what may be taken away at once; nil bounds nothing.
	Guard *guard.Ground `json:"-"`
	Now   time.Time
}

// MemberView is what a rollout needs to know of a member.
type MemberView struct {
	State api.MemberState
	// Leaving is set once its deletion was asked for; WhenLeaving is api.WhenLeavingRetain, also
	// when empty, or api.WhenLeavingDelete.
	Leaving     bool
	WhenLeaving string
	// Frozen says who froze the member alone, empty where nobody did: it keeps what it has.
	Frozen string
	// Gone says that the member is no part of the fleet any more: nothing can be confirmed by it.
	Gone bool
}

// ViewOf is what a rollout sees of a member in a state; spec is nil for one that is no part of the fleet.
func ViewOf(spec *api.Spec, state api.MemberState) MemberView {
	if spec == nil {
		return MemberView{Gone: true}
	}
	v := MemberView{State: state}
	if spec.Deleted == nil {
		return v
	}
	v.Leaving = true
	if mc, err := api.SpecOf[api.MemberCluster](spec); err == nil && mc.Spec.DeleteOptions != nil {
		v.WhenLeaving = mc.Spec.DeleteOptions.WhenLeaving
	}
	return v
}

// Plan is the next release and how it differs from the one before.
type Plan struct {
	// Release is to be written when Changed. It is empty, and may be deleted, once the placement is
	// gone and every withdrawal confirmed.
	Release api.Release
	Changed bool
	// Advance are the members that get the newest snapshot now, Withdraw those that are to give the
	// placement up now, Confirmed those whose withdrawal is done, Dropped those that left the fleet
	// without confirming one. All are sorted; entries of the last two are dropped.
	Advance   []string
	Withdraw  []string
	Confirmed []string
	Dropped   []string
	// Back are the members that go back from a snapshot whose checks failed, to what they had before or to nothing.
	Back []string
	// Hold says why the other bindings wait; it is Release.Held.
	Hold []api.Held
	// Takes says that something is taken away that counts as such.
	Takes bool
	// Recheck is when time alone may change the answer; zero when only news can.
	Recheck time.Time
	// Events are for the audit stream.
	Events []api.Audit
}

// Source is what is known of a member now: its newest result about the placement, nil when there is none, and what
// a rollout needs to know of it.
type Source func(member string) (*api.PlacementResult, MemberView)

// Next decides the next release of a placement.
func Next(in Input) Plan { return decide(in, in.known).plan() }

func (in *Input) known(member string) (*api.PlacementResult, MemberView) {
	return in.Results[member], in.Members[member]
}

func decide(in Input, known Source) *rollout {
	r := newRollout(in, known)
	r.idle = true
	r.settle()
	r.withdrawForced()
	r.followApplyStrategy()
	r.try()
	switch {
	case r.ending():
	case r.blocked() != "":
		r.holdMovers(r.blocked())
	case r.paused != "":
		r.aim()
		r.renumber()
		r.withhold()
		r.holdMovers(r.paused)
	case r.in.Placement.External():
		r.followGrants()
	case r.trial.refused:
		r.aim()
		r.turnBack()
	default:
		r.aim()
		r.renumber()
		r.move()
	}
	return r
}
