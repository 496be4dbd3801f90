package upgrader

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/subjects"
)

// maxID bounds operation ids, which become names of files.
const maxID = 200

// execute carries out one operation after the other until none is left.
func (u *Upgrader) execute(ctx context.Context, _ string) (time.Time, error) {
	for repeat := true; ctx.Err() == nil; repeat = false {
		r, ok := u.next(repeat)
		if !ok {
			break
		}
		result, err := u.carry(ctx, &r)
		if err == nil {
			err = u.finish(ctx, &r, result)
		}
		if err != nil && ctx.Err() == nil {
			u.o.Log.Error().Err(err).Str("operation", r.Operation.ID).Msg("an upgrade cannot go on; trying again")
			u.setTrouble(err.Error())
			loop.Pause(ctx, mostWait)
		}
	}
	return time.Time{}, nil
}

// firstWait and mostWait bound the delay between two looks at what is not as it should be.
const (
	firstWait = 20 * time.Millisecond
	mostWait  = 2 * time.Second
)

// next is the operation to work on: the one that was started and has no result, else the one that is
// wanted, if it has none. With repeat the result of one that ended is told again: the hub asks for it. None is begun
// before the hub was heard.
func (u *Upgrader) next(repeat bool) (record, bool) {
	if r, ok := u.ledger.started(); ok {
		return r, true
	}
	r, ok := u.ledger.wanted()
	if !ok || r.Result == nil {
		return r, ok && u.ledger.heard()
	}
	if repeat {
		u.tell(*r.Result)
	}
	return record{}, false
}

// tell reports a result, unless the hub asks for a later operation of the same run.
func (u *Upgrader) tell(r api.UpgradeResult) {
	if w, ok := u.ledger.wanted(); ok && w.Operation.Run == r.Run && w.Operation.ID != r.Operation {
		return
	}
	u.reporter.tell(r)
}

// wait reports that an operation waits for the one before it.
func (u *Upgrader) wait() {
	running, busy := u.ledger.started()
	w, ok := u.ledger.wanted()
	if busy && ok && w.Operation.ID != running.Operation.ID && w.Result == nil {
		u.progress(&w)(api.UpgradeResult{Message: fmt.Sprintf("waits for operation %s to end", running.Operation.ID)})
	}
}

// carry brings an operation to its end. The error says why that cannot be done now.
func (u *Upgrader) carry(ctx context.Context, r *record) (api.UpgradeResult, error) {
	follow := u.o.Driver.Resume
	if r.Started.IsZero() {
		if result, over, err := u.begin(ctx, r); over || err != nil {
			return result, err
		}
		follow = u.o.Driver.Run
		u.o.Log.Info().Str("operation", r.Operation.ID).Str("upgrade", describe(&r.Operation)).Msg("the upgrade begins")
	} else {
		u.inventory.refresh(false)
		u.o.Log.Info().Str("operation", r.Operation.ID).Msg("an upgrade that was begun before is followed")
	}
	result, known, err := follow(ctx, r.Operation, u.progress(r))
	if err == nil && !known {
		result, err = u.judge(ctx, r)
	}
	if err != nil || result.Outcome != api.OutcomeSucceeded {
		return result, err
	}
	return u.verify(ctx, r, result)
}

// progress reports how far a driver is.
func (u *Upgrader) progress(r *record) func(api.UpgradeResult) {
	return func(p api.UpgradeResult) {
		p.Outcome = api.OutcomeRunning
		u.tell(resultOf(u.o.Member, &r.Operation, p, u.o.Hub.Now()))
	}
}

// begin checks an operation and the member before anything is done, and notes on the disk that it is
// started. Over says that it ended here, with result.
func (u *Upgrader) begin(ctx context.Context, r *record) (result api.UpgradeResult, over bool, err error) {
	op := &r.Operation
	if why := refuse(op, u.o.Member); why != "" {
		return api.UpgradeResult{Outcome: api.OutcomeFailed, Reason: api.ReasonAgentRejected, Message: why}, true, nil
	}
	if err := u.o.Hub.Twin(); err != nil {
		u.progress(r)(api.UpgradeResult{Message: "waits: " + err.Error()})
		return result, false, err
	}
	if u.o.Ours != nil {
		if err := u.o.Ours(ctx); err != nil {
			return api.UpgradeResult{Outcome: api.OutcomeBlocked, Message: err.Error()}, ctx.Err() == nil, ctx.Err()
		}
	}
	u.progress(r)(api.UpgradeResult{Message: "looking at the member"})
	now, err := u.inventory.look(ctx)
	if ctx.Err() != nil {
		return result, false, ctx.Err()
	}
	if err == nil && len(missing(op, &now)) == 0 {
		return api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: "the member was there already, nothing was done"}, true, nil
	}
	if other := now.CurrentOperation; other != "" && other != op.ID {
		return api.UpgradeResult{Outcome: api.OutcomeBlocked, Message: fmt.Sprintf("operation %s is in progress on the member", other)}, true, nil
	}
	if op.Checks != api.ChecksIgnore {
		found := u.o.Checks.preflight(ctx, u.o.Target, op)
		if ctx.Err() != nil {
			return result, false, ctx.Err()
		}
		if len(found) > 0 && op.Checks != api.ChecksWarn {
			return api.UpgradeResult{Outcome: api.OutcomeBlocked, Message: "before the upgrade: " + strings.Join(found, "; ")}, true, nil
		}
		r.Warnings = found
	}
	r.Started = u.o.Hub.Now()
	started, err := u.ledger.start(*r)
	if err != nil {
		return result, false, err
	}
	if !started {
		r.Started = time.Time{}
		return api.UpgradeResult{Outcome: api.OutcomeBlocked, Message: "the hub took the operation back before it was started; nothing was changed"}, true, nil
	}
	u.inventory.refresh(false)
	return result, false, nil
}

// refuse says what is wrong with an operation, empty when nothing is.
func refuse(op *api.UpgradeOperation, member string) string {
	switch {
	case op.ID == "" || op.Run == "" || len(op.ID) > maxID:
		return fmt.Sprintf("operation %q of run %q: both need a name of up to %d characters", op.ID, op.Run, maxID)
	case !slices.Contains([]string{api.UpgradeFull, api.UpgradeControlPlaneOnly, api.UpgradeNodeImageOnly}, op.Type):
		return fmt.Sprintf("the agent of %s does not know upgrades of type %q; update the agent", member, op.Type)
	case op.ControlPlaneVersion == "" && len(op.NodePools) == 0:
		return "the operation names neither a control plane version nor a node pool"
	}
	return ""
}

// judge looks at the member to say what came of an operation that nobody else knows of any more.
func (u *Upgrader) judge(ctx context.Context, r *record) (api.UpgradeResult, error) {
	now, err := u.inventory.look(ctx)
	if ctx.Err() != nil {
		return api.UpgradeResult{}, ctx.Err()
	}
	lost := fmt.Sprintf("the upgrade was interrupted, and driver %s does not know what became of it", u.o.Driver)
	if err != nil {
		return api.UpgradeResult{
			Outcome: api.OutcomeFailed, Reason: api.ReasonUpgradeFailed,
			Message: fmt.Sprintf("%s; the member cannot be read either: %s; look at it, then start the run again", lost, err),
		}, nil
	}
	left := missing(&r.Operation, &now)
	if len(left) == 0 {
		return api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: lost + ", but the member is where it was to go"}, nil
	}
	return api.UpgradeResult{
		Outcome: api.OutcomeFailed, Reason: api.ReasonUpgradeFailed,
		Message: fmt.Sprintf("%s: %s; it is not begun a second time: look at the member, then start the run again", lost, strings.Join(left, "; ")),
	}, nil
}

// verify looks at a member whose driver said that all went well.
func (u *Upgrader) verify(ctx context.Context, r *record, result api.UpgradeResult) (api.UpgradeResult, error) {
	warnings := r.Warnings
	if r.Operation.Checks != api.ChecksIgnore {
		u.progress(r)(api.UpgradeResult{Percent: 100, Message: "checking the member after the upgrade", Pools: result.Pools})
		found := u.settle(ctx, &r.Operation)
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		if len(found) > 0 && r.Operation.Checks != api.ChecksWarn {
			result.Outcome, result.Reason = api.OutcomeFailed, api.ReasonHealthCheckFailed
			result.Message = joined("after the upgrade: "+strings.Join(found, "; "), result.Message)
			return result, nil
		}
		warnings = append(slices.Clone(warnings), found...)
	}
	if len(warnings) > 0 {
		result.Message = joined(result.Message, "warnings: "+strings.Join(warnings, "; "))
	}
	return result, nil
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// settle repeats the checks after an upgrade until they find nothing or the time for that is over.
func (u *Upgrader) settle(ctx context.Context, op *api.UpgradeOperation) []string {
	until := u.o.Hub.Now().Add(u.o.Checks.Settle)
	retry := loop.Backoff{First: firstWait, Most: mostWait}
	for {
		now, err := u.inventory.look(ctx)
		found := astray(op, &now)
		if err != nil {
			found = append(found, fmt.Sprintf("not all of the member can be read: %s", err))
		}
		found = append(found, u.o.Checks.after(ctx, u.o.Target, op, &now)...)
		if len(found) == 0 || ctx.Err() != nil || u.o.Hub.Now().After(until) {
			return found
		}
		retry.Wait(ctx)
	}
}

// finish keeps the result, tells the inventory first and then the result.
func (u *Upgrader) finish(ctx context.Context, r *record, result api.UpgradeResult) error {
	result = resultOf(u.o.Member, &r.Operation, result, u.o.Hub.Now())
	result.Message = clip(result.Message)
	r.Result = &result
	if err := u.ledger.save(*r); err != nil {
		return err
	}
	u.setTrouble("")
	u.o.Log.Info().Str("operation", r.Operation.ID).Str("outcome", result.Outcome).Str("message", cmp.Or(result.Message, "done")).Msg("the upgrade ended")
	if err := u.inventory.publish(ctx, false); err != nil {
		u.o.Log.Debug().Err(err).Msg("the inventory could not be told; it follows")
	}
	u.tell(result)
	u.keepResults()
	return nil
}

// keepResults drops the results of runs that are over for long.
func (u *Upgrader) keepResults() { u.o.Hub.KeepResults(subjects.CommandUpgrade, u.ledger.reports) }

func describe(op *api.UpgradeOperation) string {
	var parts []string
	if op.ControlPlaneVersion != "" {
		parts = append(parts, "control plane to "+op.ControlPlaneVersion)
	}
	for i := range op.NodePools {
		p := &op.NodePools[i]
		switch {
		case p.Newest:
			parts = append(parts, joinedWords("pool "+p.Pool, p.ToVersion, "newest image"))
		default:
			parts = append(parts, joinedWords("pool "+p.Pool, p.ToVersion, p.To))
		}
	}
	return strings.Join(parts, ", ")
}

func joinedWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}
