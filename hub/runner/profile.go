package runner

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
	"flotilla/subjects"
)

// followProfile makes, starts, stops and removes runs as a profile asks for. Each of
// them is a write of its own that a repeat finds done; what is noted in the profile's status comes last,
// with the run it speaks of.
func (r *Runner) followProfile(ctx context.Context, name string) (time.Time, error) {
	in, revision, err := r.gatherProfile(name)
	if err != nil {
		return time.Time{}, fmt.Errorf("gathering profile %s: %w", name, err)
	}
	if in == nil {
		if revision == 0 {
			return time.Time{}, nil
		}
		_, err := r.store.Writer.Write(ctx, r.records.profiles.Delete(name, revision))
		return time.Time{}, err
	}
	d := upgrade.Reconcile(*in)
	who := subjects.KindProfile + " " + name
	for _, run := range d.Remove {
		if err := r.remove(ctx, run, who); err != nil {
			return time.Time{}, err
		}
	}
	for _, run := range d.Stop {
		if err := r.act(ctx, run, api.VerbRunStop, who); err != nil {
			return time.Time{}, err
		}
	}
	var told []api.Audit
	var ops []store.Op
	if d.Changed {
		told, ops = append(told, trigger(name, &d.Status)), append(ops, r.records.profiles.Put(name, &d.Status, revision))
	}
	switch {
	case d.Create != nil:
		err = r.adopt(ctx, d.Create, d.Start != "", api.Caller{Name: who}, told, ops...)
	case len(ops) > 0:
		_, err = r.store.WriteTold(ctx, told, ops...)
	}
	if err == nil && d.Create == nil && d.Start != "" {
		err = r.act(ctx, d.Start, api.VerbRunStart, who)
	}
	return d.Recheck, err
}

// trigger is the event of what a profile did last.
func trigger(name string, status *api.AutoUpgradeProfileStatus) api.Audit {
	kind := "Normal"
	if status.LastTriggerStatus == api.TriggerFailed {
		kind = "Warning"
	}
	return api.Audit{
		Object: subjects.KindProfile + "/" + name, Type: kind, Reason: "Trigger" + status.LastTriggerStatus,
		Message: status.LastTriggerMessage, By: by,
	}
}

// gatherProfile collects what a profile depends on, nil when its spec is gone, and the revision of its
// status.
func (r *Runner) gatherProfile(name string) (*upgrade.ProfileInput, uint64, error) {
	status, revision, noted, unread := r.records.profiles.Find(name)
	spec, _, found, err := r.records.profileSpecs.Find(name)
	if err != nil || !found {
		return nil, revision, err
	}
	if unread != nil {
		return nil, revision, unread
	}
	profile, err := api.SpecOf[api.AutoUpgradeProfile](&spec)
	if err != nil {
		return nil, revision, err
	}
	in := &upgrade.ProfileInput{Profile: profile, Now: r.options.Now()}
	if noted && status.UID == spec.UID {
		in.Status = &status
	}
	if in.Strategy, err = r.records.strategy(profile.Spec.StrategyName); err != nil {
		return nil, revision, err
	}
	if in.View, err = r.viewFor(""); err != nil {
		return nil, revision, err
	}
	in.Runs, err = r.heads()
	return in, revision, err
}

// heads are all runs of the fleet as profiles see them.
func (r *Runner) heads() ([]upgrade.RunHead, error) {
	var heads []upgrade.RunHead
	specs, err := r.records.runSpecs.FindAll()
	if err != nil {
		return nil, err
	}
	for _, entry := range specs {
		run, _, err := r.records.run(entry.Name)
		if err != nil {
			return nil, err
		}
		if run == nil {
			continue
		}
		status, _, found, err := r.records.runs.Find(entry.Name)
		switch {
		case err != nil:
			return nil, err
		case found:
			heads = append(heads, upgrade.HeadOf(run, &status))
		default:
			heads = append(heads, upgrade.HeadOf(run, nil))
		}
	}
	return heads, nil
}

// adopt writes a run that a profile made, spec and status, and starts it in the same write when start is
// set: a hub that ends in between leaves no run that nobody starts. With it goes what told and ops say,
// which led to the run.
func (r *Runner) adopt(ctx context.Context, made *upgrade.NewRun, start bool, by api.Caller, told []api.Audit, ops ...store.Op) error {
	run, status := &made.Run, made.Status
	run.UID = uuid.NewUUID()
	status.UID = string(run.UID)
	entered, err := r.options.Entry.Enter(run)
	if err != nil {
		return err
	}
	now := r.options.Now()
	left := stage.LeftOutEvents(nil, &status, now)
	ops = append(ops, entered)
	var step stage.Decision
	if start {
		view, err := r.viewFor("")
		if err != nil {
			return err
		}
		var refusal *api.Refusal
		if step, refusal = upgrade.Operate(run, &status, view, now, api.VerbRunStart, &api.RunRequest{Run: run.Name}); refusal == nil {
			status = step.Status
			ops = append(ops, r.lockOps(&step, run.Name, now)...)
		} else {
			status.Warnings = append(status.Warnings, "its profile could not start it: "+refusal.Error())
		}
	}
	ops = append(ops, r.records.runs.Put(run.Name, &status, 0))
	told = append(told, by.Audit(api.Audit{
		Object: runObject(run.Name), Type: "Normal", Reason: "Created",
		Message: fmt.Sprintf("%d members in %d stages", status.Members, len(status.Stages)),
	}))
	if _, err := r.store.WriteTold(ctx, append(told, audits(append(left, step.Events...), by)...), ops...); err != nil {
		return fmt.Errorf("making run %s: %w", run.Name, err)
	}
	return nil
}

// act does to a run what a profile asks for; a refusal is noted with the run.
func (r *Runner) act(ctx context.Context, run, verb, who string) error {
	s, err := r.gather(run)
	if err != nil || s.run == nil || s.status == nil {
		return err
	}
	step, refusal := upgrade.Operate(s.run, s.status, s.view, s.now, verb, &api.RunRequest{Run: run})
	if refusal != nil {
		r.store.Audit.Record(api.Audit{
			Object: runObject(run), Type: "Warning", Reason: refusal.Code, Message: verb + ": " + refusal.Error(), By: who,
		})
		return nil
	}
	r.queue.Add(runKey + run)
	return r.carry(ctx, s, &step, api.Caller{Name: who})
}

// remove deletes a run that waited in vain, spec and status.
func (r *Runner) remove(ctx context.Context, run, who string) error {
	var ops []store.Op
	if op, found := r.options.Entry.Leave(run); found {
		ops = append(ops, op)
	}
	if status, revision, found := r.records.runs.Get(run); found {
		ops = append(ops, r.releaseAll(&status)...)
		ops = append(ops, r.records.runs.Delete(run, revision))
	}
	removed := api.Audit{Object: runObject(run), Type: "Normal", Reason: "Removed", By: who, Message: "a newer run takes its place"}
	if _, err := r.store.WriteTold(ctx, []api.Audit{removed}, ops...); err != nil {
		return fmt.Errorf("removing run %s: %w", run, err)
	}
	return nil
}

// generate makes the run that a profile stands for now, without starting it.
func (r *Runner) generate(ctx context.Context, ask *api.RunRequest) (*api.RunResponse, error) {
	in, _, err := r.gatherProfile(ask.Run)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, &api.Refusal{
			Code: api.CodeRunNotFound, Message: fmt.Sprintf("there is no AutoUpgradeProfile %q", ask.Run), Next: "flotilla get profiles",
		}
	}
	name, made, refusal := upgrade.GenerateRun(*in)
	if refusal != nil {
		return nil, refusal
	}
	if made != nil {
		if err := r.adopt(ctx, made, false, ask.By, nil); err != nil {
			return nil, err
		}
	}
	s, err := r.gather(name)
	if err != nil {
		return nil, err
	}
	if s.status == nil {
		return &api.RunResponse{Run: name, State: api.StateNotStarted, Unchanged: true}, nil
	}
	answer := r.answer(s)
	answer.Unchanged = made == nil
	return answer, nil
}
