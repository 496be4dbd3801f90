package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
	"flotilla/subjects"
)

// by is who writes these events.
const by = "runner"

func resultKey(member, run string) string {
	return subjects.ResultKey(member, subjects.CommandUpgrade, run)
}

// followRun creates, steps or removes a run, as its records ask for.
func (r *Runner) followRun(ctx context.Context, name string) (time.Time, error) {
	s, err := r.gather(name)
	if err != nil {
		return time.Time{}, fmt.Errorf("gathering run %s: %w", name, err)
	}
	switch {
	case s.gone():
		return time.Time{}, r.forget(ctx, s)
	case s.staged != nil:
		return r.followContent(ctx, s)
	case s.stale():
		return time.Time{}, r.create(ctx, s)
	}
	step := upgrade.Step(s.run, s.status, s.view, s.now)
	if err := r.carry(ctx, s, &step, api.Caller{Name: by}); err != nil {
		return time.Time{}, err
	}
	return r.recheck(&step), nil
}

// stale says that the status is not the one of the spec: there is none, it is of an earlier object of
// that name, or of an earlier spec and not started yet.
func (s *situation) stale() bool {
	meta := s.meta()
	switch {
	case s.status == nil, s.status.UID != string(meta.UID), uncreated(s.status):
		return true
	default: // of content only the wanted state changes, which is followed
		return s.run != nil && s.status.Status.State == api.StateNotStarted && s.status.ObservedGeneration != meta.Generation
	}
}

// meta is that of the spec, which is there.
func (s *situation) meta() *metav1.ObjectMeta {
	if s.staged != nil {
		return &s.staged.ObjectMeta
	}
	return &s.run.ObjectMeta
}

// create writes the status of a run: as created, or why it cannot be created yet. Such a run is tried
// again when anything changes that it depends on.
func (r *Runner) create(ctx context.Context, s *situation) error {
	status, refusal, err := r.made(s)
	if err != nil {
		return err
	}
	told := audits(stage.LeftOutEvents(s.status, &status, s.now), api.Caller{Name: by})
	event := api.Audit{Object: runObject(s.name), Type: "Normal", Reason: "Created", By: by}
	event.Message = fmt.Sprintf("%d members in %d stages; next: flotilla run start %s", status.Members, len(status.Stages), s.name)
	if refusal != nil {
		status = refused(s.name, s.meta(), refusal)
		event.Type, event.Reason, event.Message = "Warning", refusal.Code, "cannot be created: "+refusal.Error()
	}
	var ops []store.Op
	if old := s.status; old != nil {
		if old.UID != status.UID {
			ops = r.releaseAll(old)
		} else {
			status.Requests, status.BlockedBy = old.Requests, old.BlockedBy
			if refusal == nil && s.run != nil {
				status = upgrade.KeepSkips(s.run, &status, old, s.view, s.now)
			}
		}
		if refusal != nil && sameRefusal(old, &status) {
			return nil
		}
	}
	ops = append(ops, r.records.runs.Put(s.name, &status, s.revision))
	revisions, err := r.store.WriteTold(ctx, append([]api.Audit{event}, told...), ops...)
	if err != nil {
		return fmt.Errorf("creating run %s: %w", s.name, err)
	}
	s.status, s.revision = &status, revisions[len(revisions)-1]
	r.waiters.set(s.name, &status)
	return nil
}

// made is the status that a run begins with.
func (r *Runner) made(s *situation) (api.UpdateRunStatus, *api.Refusal, error) {
	if s.staged != nil {
		status, refusal := staged.Create(s.staged, s.content, s.now)
		return status, refusal, nil
	}
	strategy, err := r.records.strategy(s.run.Spec.StrategyName)
	if err != nil {
		return api.UpdateRunStatus{}, nil, err
	}
	status, refusal := upgrade.Create(s.run, strategy, s.view, s.now)
	return status, refusal, nil
}

// refused is the status of a run that cannot be created: it has no stages, and its error says why.
func refused(name string, run *metav1.ObjectMeta, refusal *api.Refusal) api.UpdateRunStatus {
	failure := refusal.Failure()
	return api.UpdateRunStatus{
		Header: api.NewHeader(api.KindRunStatus), Run: name, UID: string(run.UID), ObservedGeneration: run.Generation,
		Status: api.UpdateStatus{
			State: api.StateNotStarted, Error: &api.UpdateError{Code: refusal.Code, Message: failure.Error()},
		},
	}
}

func sameRefusal(a, b *api.UpdateRunStatus) bool {
	return a.UID == b.UID && a.ObservedGeneration == b.ObservedGeneration && uncreated(a) && uncreated(b) &&
		a.Status.Error != nil && a.Status.Error.Code == b.Status.Error.Code && a.Status.Error.Message == b.Status.Error.Message
}

// forget removes what is left of a run whose spec is gone, its locks included.
func (r *Runner) forget(ctx context.Context, s *situation) error {
	r.waiters.set(s.name, nil)
	if s.status == nil {
		return nil
	}
	ops := append(r.releaseAll(s.status), r.records.runs.Delete(s.name, s.revision))
	removed := api.Audit{
		Object: runObject(s.name), Type: "Normal", Reason: "Removed", By: by,
		Message: fmt.Sprintf("it was %s, %d of %d members finished", s.status.Status.State, s.status.Finished, s.status.Members),
	}
	if _, err := r.store.WriteTold(ctx, []api.Audit{removed}, ops...); err != nil {
		return fmt.Errorf("removing run %s: %w", s.name, err)
	}
	return nil
}

func runObject(name string) string { return subjects.KindRun + "/" + name }

// carry writes what was decided about a run: its status with the locks it gives back and takes, all or
// nothing. A decision that changes nothing writes nothing. What was asked for is told first.
func (r *Runner) carry(ctx context.Context, s *situation, step *stage.Decision, by api.Caller, asked ...api.Audit) error {
	r.waiters.set(s.name, &step.Status)
	if !step.Changed {
		r.store.Audit.Record(asked...)
		return nil
	}
	revision, err := r.fit(ctx, s, step, append(asked, audits(step.Events, by)...))
	if err != nil {
		return fmt.Errorf("writing run %s: %w", s.name, err)
	}
	s.status, s.revision = &step.Status, revision
	r.options.Log.Debug().Str("run", s.name).Str("state", string(step.Status.Status.State)).
		Int("start", len(step.Take)).Int("finished", step.Status.Finished).Msg("stepped")
	return nil
}

// fit writes the status of a run with the locks of its step, and tells of it. One that is too large goes
// without ever more of what is only for people to read, so that no result and no stop is refused for it.
func (r *Runner) fit(ctx context.Context, s *situation, step *stage.Decision, told []api.Audit) (uint64, error) {
	whole, locks := step.Status, r.lockOps(step, s.name, s.now)
	for weight := 0; ; weight++ {
		ops := append(slices.Clip(locks), r.records.runs.Put(s.name, &step.Status, s.revision))
		revisions, err := r.store.WriteTold(ctx, told, ops...)
		if err == nil {
			return revisions[len(revisions)-1], nil
		}
		if !errors.Is(err, bus.ErrTooLarge) || weight == stage.Weights {
			return 0, err
		}
		step.Status = stage.Lighter(whole, weight+1)
		r.options.Log.Warn().Str("run", s.name).Int("weight", weight+1).Msg("record too large; its history is shortened")
	}
}

func audits(events []stage.Event, by api.Caller) []api.Audit {
	out := make([]api.Audit, len(events))
	for i := range events {
		out[i] = by.Audit(events[i].Audit(by.Name))
	}
	return out
}

// recheck is when a run is to be looked at again: when its step asks for it, and now and then while it
// is under way or waits for a time.
func (r *Runner) recheck(step *stage.Decision) time.Time {
	state := step.Status.Status.State
	if !state.Active() && state != api.StateStopping && step.Recheck.IsZero() {
		return time.Time{}
	}
	if step.Status.Content != nil && step.Changed { // who has already what it is let have answers nothing anew
		return r.options.Now().Add(settle)
	}
	next := r.options.Now().Add(r.options.Poll)
	if !step.Recheck.IsZero() && step.Recheck.Before(next) {
		return step.Recheck
	}
	return next
}
