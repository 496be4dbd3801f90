package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/stage"
)

// ownerPrefix opens the owner of a lock that a run holds, "run web-1".
const ownerPrefix = "run "

func owner(run string) string { return ownerPrefix + run }

func runOf(owner string) (string, bool) { return strings.CutPrefix(owner, ownerPrefix) }

// lockOps are the writes that give back and take the locks of a decision. A lock that one operation of
// a run gives back and its next one takes changes hands in one write.
func (r *Runner) lockOps(step *stage.Decision, run string, now time.Time) []store.Op {
	freed := map[string]store.Op{}
	for _, lock := range step.Release {
		if op, held := r.records.locks.Release(lock.Member, lock.Operation); held {
			freed[lock.Member] = op
		}
	}
	ops := make([]store.Op, 0, len(step.Take)+len(freed)+1)
	for _, lock := range step.Take {
		ops = append(ops, r.records.locks.Pass(lock.Member, lock.Operation, owner(run), now, freed[lock.Member].Revision))
		delete(freed, lock.Member)
	}
	for _, lock := range step.Release {
		if op, held := freed[lock.Member]; held {
			ops = append(ops, op)
		}
	}
	return ops
}

// releaseAll are the writes that give back every lock a run holds.
func (r *Runner) releaseAll(status *api.UpdateRunStatus) []store.Op {
	var ops []store.Op
	eachMember(status, func(m *api.MemberUpdateStatus) {
		if op, held := r.records.locks.Release(m.Name, m.OperationID); held {
			ops = append(ops, op)
		}
	})
	return ops
}

// sweepLocks gives back locks under the name of a run that no run knows of, as a restore of older
// records may leave them.
func (r *Runner) sweepLocks(ctx context.Context) error {
	held := map[string]bool{}
	runs, err := r.records.runs.FindAll()
	if err != nil {
		return err // it may hold any of them
	}
	for _, entry := range runs {
		eachMember(&entry.Value, func(m *api.MemberUpdateStatus) {
			if m.Locked {
				held[m.OperationID] = true
			}
		})
	}
	for _, entry := range r.records.locks.All() {
		lock := entry.Value
		run, ours := runOf(lock.Owner)
		if !ours || held[lock.Holder] {
			continue
		}
		op, still := r.records.locks.Release(lock.Member, lock.Holder)
		if !still {
			continue
		}
		released := api.Audit{
			Object: runObject(run), Member: lock.Member, Type: "Warning", Reason: "LockReleased", By: by,
			Message: fmt.Sprintf("no run knows of operation %s, which held %s", lock.Holder, lock.Member),
		}
		if _, err := r.store.WriteTold(ctx, []api.Audit{released}, op); err != nil {
			return fmt.Errorf("giving back the lock of %s: %w", lock.Member, err)
		}
	}
	return nil
}
