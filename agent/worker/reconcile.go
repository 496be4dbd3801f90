package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// outcome is what one look at an entry came to.
type outcome struct {
	result api.PlacementResult
	wait   wait
	over   time.Time // when what was corrected is told of no longer; zero for never
}

// reconcile looks at one placement: what the index withdraws of it first, then what it wants. The
// result it reports is that of the first entry; a withdrawal is confirmed before anything else of the
// same name is spoken of.
func (w *Worker) reconcile(ctx context.Context, placement string) (time.Time, error) {
	entries, order := w.index.at(placement)
	if len(entries) == 0 {
		return time.Time{}, w.forget(placement)
	}
	var first *outcome
	longest := steady
	for i := range entries {
		out, err := w.entry(ctx, entries[i], order)
		if errors.Is(err, errSuperseded) {
			return w.o.Hub.Now(), nil
		}
		if err != nil {
			return time.Time{}, err
		}
		longest = max(longest, out.wait)
		if first == nil {
			first = &out
		}
	}
	if err := w.ledger.put(first.result, w.index.cameOf(placement), w.o.Hub.Now()); err != nil {
		w.o.Log.Warn().Err(err).Str("placement", placement).Msg("result could not be kept; trying again")
		longest = retrying
	}
	if err := w.store.flush(); err != nil {
		w.o.Log.Warn().Err(err).Msg("content could not be brought to the disk")
		longest = retrying
	}
	if ctx.Err() != nil {
		return time.Time{}, ctx.Err()
	}
	if longest == steady {
		w.shelf.settle(placement)
	}
	mark := fmt.Sprint(first.result.Generation, first.result.UID, first.result.Failed, first.result.Applied)
	next := w.o.Hub.Now().Add(w.pace.next(placement, longest, mark))
	if !first.over.IsZero() && first.over.Before(next) {
		return first.over, nil
	}
	return next, nil
}

func (w *Worker) entry(ctx context.Context, e api.IndexEntry, order api.Order) (outcome, error) {
	r := newResult(w.o.Member, order, e)
	owner := apply.Owner{Placement: e.Placement, UID: e.UID}
	from := target.Origin{Owner: owner.String(), Order: order, Generation: e.Generation, Snapshot: e.Snapshot}
	look := w.hold
	if e.Withdrawn {
		look = w.withdraw
	}
	kind, err := look(ctx, owner, e, from, &r)
	switch {
	case ctx.Err() != nil:
		return outcome{}, ctx.Err()
	case errors.Is(err, errSuperseded):
		return outcome{}, err
	case err != nil:
		w.o.Log.Debug().Err(err).Str("placement", e.Placement).Msg("not done yet")
		r, kind = w.inProgress(r, err), retrying
	}
	out := outcome{result: r, wait: kind}
	if !e.Withdrawn {
		out.over = w.corrections.tell(&out.result, w.o.Hub.Now())
		cut(&out.result)
	}
	return out, nil
}

// hold makes the member hold what the entry says and fills in the result. The error says why that
// cannot be told now.
func (w *Worker) hold(ctx context.Context, owner apply.Owner, e api.IndexEntry, from target.Origin, r *api.PlacementResult) (wait, error) {
	manifests, err := w.shelf.manifests(ctx, e)
	if err != nil {
		if errors.Is(err, errNotYet) {
			w.commands.Look()
		}
		return retrying, err
	}
	live, err := w.live(ctx, owner, manifests)
	if err != nil {
		return retrying, err
	}
	plan, err := w.compare(ctx, apply.Wanted{Owner: owner, Strategy: e.Apply, Manifests: manifests}, live, from)
	if err != nil {
		return retrying, err
	}
	if err := w.mayAct(ctx, from.Order); err != nil {
		return retrying, err
	}
	if e.Apply != nil && e.Apply.Type == api.ApplyReportDiff {
		t := w.count(ctx, plan, nil, len(manifests))
		t.report(r)
		return steady, nil
	}
	w.corrections.calm(e, plan, w.o.Hub.Now())
	w.say(e.Placement, plan)
	if err := w.o.Target.Intend(ctx, owner.String(), intended(owner, manifests, live)); err != nil {
		return retrying, fmt.Errorf("noting what is to be written: %w", err)
	}
	done, err := w.perform(ctx, plan, from, apply.Forced(e.Apply))
	if err != nil {
		return retrying, fmt.Errorf("writing: %w", err)
	}
	w.corrections.note(e, done, w.o.Hub.Now())
	t := w.count(ctx, plan, done, len(manifests))
	t.answer(r)
	switch {
	case len(t.failures) > 0:
		return retrying, nil
	case len(t.waiting) > 0:
		return watching, nil
	}
	return steady, nil
}

// errSuperseded says that a newer command came while a placement was looked at: it is looked at again.
var errSuperseded = errors.New("a newer command came")

// mayAct has the member remember the command that is about to be followed, unless it remembers a newer one already: then the disk of the
// agent is older than the member, and the hub is asked first. While another agent speaks for the member this one does nothing.
func (w *Worker) mayAct(ctx context.Context, order api.Order) error {
	if err := w.o.Hub.Twin(); err != nil {
		return err
	}
	begins, err := w.member.follow(ctx, w.o.Target, order)
	var older *olderError
	if errors.As(err, &older) && w.index.order().Compare(older.member) >= 0 {
		return errSuperseded
	}
	if begins {
		w.o.Log.Warn().Msg(err.Error())
	}
	return err
}

// withdraw takes what the owner owns off the member, or lets go of it, and confirms when nothing is
// left.
func (w *Worker) withdraw(ctx context.Context, owner apply.Owner, e api.IndexEntry, from target.Origin, r *api.PlacementResult) (wait, error) {
	w.shelf.forget(e.Placement)
	live, err := w.o.Target.Owned(ctx, owner.String())
	if err != nil {
		return retrying, fmt.Errorf("reading what is to be withdrawn: %w", err)
	}
	plan := apply.Withdraw(owner, live, e.Abandon)
	if err := w.mayAct(ctx, from.Order); err != nil {
		return retrying, err
	}
	w.say(e.Placement, plan)
	done, err := w.perform(ctx, plan, from, false)
	if err != nil {
		return retrying, fmt.Errorf("withdrawing: %w", err)
	}
	if t := w.count(ctx, plan, done, len(live)); len(t.failures) > 0 {
		t.answer(r)
		return retrying, nil
	}
	left, err := w.o.Target.Owned(ctx, owner.String())
	if err != nil {
		return retrying, fmt.Errorf("reading what is left: %w", err)
	}
	if len(left) > 0 {
		return watching, fmt.Errorf("%d objects are still being deleted, first %s", len(left), apply.RefOf(left[0]))
	}
	if err := w.o.Target.Intend(ctx, owner.String(), nil); err != nil {
		return retrying, fmt.Errorf("noting that nothing is left: %w", err)
	}
	r.Withdrawn, r.Applied, r.AppliedReason = true, yes, reasonApplied
	r.AppliedMessage = "nothing of it is left"
	if e.Abandon {
		r.AppliedMessage = "its objects were left in place and belong to nobody now"
	}
	return steady, nil
}

// intended are the objects that the owner may have once its manifests are written: those, and what it has now.
func intended(owner apply.Owner, manifests []apply.Manifest, live []*unstructured.Unstructured) []api.ObjectRef {
	var refs []api.ObjectRef
	named := map[apply.Identity]bool{}
	for i := range manifests {
		if id := apply.IdentityOf(manifests[i].ObjectRef); manifests[i].Name != "" && !named[id] {
			named[id] = true
			refs = append(refs, manifests[i].ObjectRef)
		}
	}
	for _, object := range live {
		ref := apply.RefOf(object)
		if found, owned := apply.OwnerOf(object); owned && found == owner && !named[apply.IdentityOf(ref)] {
			refs = append(refs, ref)
		}
	}
	return refs
}

// inProgress is the result while the answer is not known. What is known of the same work stays said,
// but nobody can vouch for its being available.
func (w *Worker) inProgress(r api.PlacementResult, why error) api.PlacementResult {
	last, ok := w.ledger.of(r.Placement)
	if ok && last.UID == r.UID && last.Work == r.Work && last.Generation == r.Generation && last.Applied == yes && !last.Withdrawn {
		r.Applied, r.AppliedReason, r.AppliedMessage = last.Applied, last.AppliedReason, last.AppliedMessage
		r.Total = last.Total
		r.Available, r.AvailableReason, r.AvailableMessage = unknown, reasonUnavailable, clip(why.Error())
		return r
	}
	r.Applied, r.AppliedReason, r.AppliedMessage = unknown, reasonInProgress, clip(why.Error())
	return r
}

// live reads what the owner owns and, whoever owns them, the objects that the manifests name.
func (w *Worker) live(ctx context.Context, owner apply.Owner, manifests []apply.Manifest) ([]*unstructured.Unstructured, error) {
	live, err := w.o.Target.Owned(ctx, owner.String())
	if err != nil {
		return nil, fmt.Errorf("reading what is there: %w", err)
	}
	have := make(map[apply.Identity]bool, len(live))
	for _, object := range live {
		have[apply.IdentityOf(apply.RefOf(object))] = true
	}
	var others []api.ObjectRef
	for i := range manifests {
		if id := apply.IdentityOf(manifests[i].ObjectRef); manifests[i].Name != "" && !have[id] {
			have[id] = true
			others = append(others, manifests[i].ObjectRef)
		}
	}
	found, err := w.o.Target.Find(ctx, others)
	if err != nil {
		return nil, fmt.Errorf("reading what is there: %w", err)
	}
	return append(live, found...), nil
}

// forget drops what is known of a placement that the index does not mention. What runs of it stays.
func (w *Worker) forget(placement string) error {
	w.shelf.forget(placement)
	w.pace.forget(placement)
	w.corrections.forget(placement)
	w.previews.forget(placement)
	return w.ledger.forget(placement)
}

func (w *Worker) say(placement string, plan apply.Plan) {
	if writes := plan.Writes(); writes > 0 {
		w.o.Log.Info().Str("placement", placement).Int("writes", writes).Int("conflicts", len(plan.Conflicts)).Msg("writing to the member")
		w.o.Log.Debug().Str("placement", placement).Msg(plan.String())
	}
}
