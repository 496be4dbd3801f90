package roller

import (
	"context"
	"time"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/rollout"
)

// placement is what is kept of a placement between two decisions; who leads next decides anew.
type placement struct {
	standing *rollout.Standing // nil while nothing was decided, or it is to be decided on again
	recheck  time.Time
}

// stirred says that what changed of a placement since it was looked at last, time included, may change the decision.
func (r *Roller) stirred(p *placement, name string, now time.Time) bool {
	whole, members := r.changes.Take(name)
	if whole || len(members) == 0 || p.standing == nil || !p.recheck.IsZero() && !now.Before(p.recheck) {
		return true
	}
	for member := range members {
		if p.standing.Stirs(member, r.records.results.Of(member, name), now) {
			return true
		}
	}
	return false
}

// release decides on a placement where anything may be decided otherwise, and acts. What takes something away is decided
// once more while no other worker takes anything: sums over placements hold whoever is first.
func (r *Roller) release(ctx context.Context, name string) (time.Time, error) {
	p, now := r.followed.Of(name), r.store.Now()
	if !r.stirred(p, name, now) {
		return p.recheck, nil
	}
	p.standing, p.recheck = nil, time.Time{}
	d, err := r.decide(name, now)
	if err == nil && d.plan.Takes {
		r.taking.Lock()
		defer r.taking.Unlock()
		d, err = r.decide(name, now)
	}
	if err != nil {
		return time.Time{}, err
	}
	if d.gone || d.plan.Changed {
		err = r.write(ctx, name, &d.plan, d.gone, d.revision)
	}
	switch {
	case err != nil:
		return time.Time{}, err
	case d.gone:
		r.followed.Forget(name)
		return time.Time{}, nil
	}
	p.standing, p.recheck = d.standing, d.plan.Recheck
	return d.plan.Recheck, nil
}

// decision is what was decided on a placement, by the release of a revision.
type decision struct {
	plan     rollout.Plan
	standing *rollout.Standing
	revision uint64
	gone     bool // nothing is left of it
}

func (r *Roller) decide(name string, now time.Time) (d decision, err error) {
	in, revision, err := r.records.gather(name)
	if err != nil {
		return d, err
	}
	in.Now, d.revision = now, revision
	in.Guard = r.records.ground(name, string(in.Placement.UID), r.options.Bounds, now)
	var broken error
	d.plan, d.standing = rollout.Decide(in, func(member string) (*api.PlacementResult, rollout.MemberView) {
		view, err := r.records.view(member)
		if err != nil {
			broken = err
		}
		return r.records.results.Of(member, name), view
	})
	d.gone = in.Placement.UID == "" && len(d.plan.Release.Entries) == 0
	return d, broken
}

// write stores what was decided on a placement, or removes the release of one that is gone.
func (r *Roller) write(ctx context.Context, name string, plan *rollout.Plan, gone bool, revision uint64) error {
	var op store.Op
	switch {
	case !gone:
		op = r.records.releases.Share(name, &plan.Release, revision)
	case revision == 0:
		return nil
	default:
		op = r.records.releases.Delete(name, revision)
	}
	if _, err := r.store.WriteTold(ctx, plan.Events, op); err != nil {
		return err
	}
	r.options.Log.Debug().Str("placement", name).Int64("step", plan.Release.Step).
		Int("advance", len(plan.Advance)).Int("withdraw", len(plan.Withdraw)).Int("hold", len(plan.Hold)).Msg("released")
	return nil
}
