package worker

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// atOnce is how many objects of one wave are written at a time.
const atOnce = 8

// performed is what became of one operation.
type performed struct {
	op   apply.Op
	live *unstructured.Unstructured // after it; nil when it failed or removed the object
	err  error
}

// perform carries a plan out, wave by wave. What fails does not keep the rest from being tried, but
// nothing is deleted while something wanted could not be written: what is there may still be needed.
// The error is set when the member cannot be reached, or ctx ended; then it stopped halfway.
func (w *Worker) perform(ctx context.Context, plan apply.Plan, from target.Origin, force bool) ([]performed, error) {
	var all []performed
	failed := false
	for _, wave := range plan.Waves {
		if failed && wave[0].Verb == apply.Delete {
			break
		}
		done := w.wave(ctx, wave, from, force)
		for i := range done {
			if away(done[i].err) || meanwhile(done[i].err) || ctx.Err() != nil {
				return all, errors.Join(done[i].err, ctx.Err())
			}
			failed = failed || done[i].err != nil
		}
		all = append(all, done...)
	}
	return all, nil
}

func (w *Worker) wave(ctx context.Context, ops []apply.Op, from target.Origin, force bool) []performed {
	done := make([]performed, len(ops))
	places := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i := range ops {
		done[i].op = ops[i]
		if ops[i].Verb == apply.Keep {
			done[i].live = ops[i].Object
			continue
		}
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			done[i].live, done[i].err = w.operate(ctx, &ops[i], from, force)
		})
	}
	running.Wait()
	return done
}

func (w *Worker) operate(ctx context.Context, op *apply.Op, from target.Origin, force bool) (*unstructured.Unstructured, error) {
	if op.Verb == apply.Delete {
		return nil, w.o.Target.Delete(ctx, target.Removal{ObjectRef: op.ObjectRef, UID: op.UID, Version: op.Version, Origin: from})
	}
	live, err := w.o.Target.Apply(ctx, target.Write{
		Object: op.Object, UID: op.UID, Version: op.Version, Exclusive: op.Exclusive, Disown: op.Verb == apply.Disown,
		Force: force, Origin: from,
	})
	if op.Verb == apply.Disown && apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// away reports errors that say nothing of the object: the member's API server cannot be reached or is
// too busy.
func away(err error) bool {
	var network net.Error
	return apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || errors.As(err, &network)
}

// meanwhile reports errors that say that the live object is not the one that the plan was made for: a new plan
// is to be made.
func meanwhile(err error) bool {
	if apierrors.IsAlreadyExists(err) {
		return true
	}
	var status apierrors.APIStatus
	return apierrors.IsConflict(err) && errors.As(err, &status) && len(apply.Contested(status.Status().Details)) == 0
}

// count turns what became of the operations, and the conflicts, into a tally.
func (w *Worker) count(ctx context.Context, plan apply.Plan, done []performed, total int) tally {
	t := tally{total: total, differing: plan.Differing}
	for _, c := range plan.Conflicts {
		t.failures = append(t.failures, api.ManifestFailure{
			ObjectRef: c.ObjectRef, Condition: conditionApplied, Reason: c.Reason, Message: c.Message,
		})
	}
	for i := range done {
		switch d := &done[i]; {
		case d.err != nil:
			t.failures = append(t.failures, api.ManifestFailure{
				ObjectRef: d.op.ObjectRef, Condition: conditionApplied, Reason: apply.ReasonApplyFailed, Message: complaint(d.op.ObjectRef, d.err),
			})
		case d.live != nil:
			t.judge(d.op.ObjectRef, d.live, func() string { return w.hindered(ctx, d.live) })
		}
	}
	return t
}

// hindered is what keeps the pods of a workload, where the member knows.
func (w *Worker) hindered(ctx context.Context, live *unstructured.Unstructured) string {
	pods, err := w.o.Target.PodsOf(ctx, live)
	if err != nil {
		return "" // the workload itself says that it is not available
	}
	return apply.Hindered(pods)
}

// because says of a workload what keeps its pods, where its controller says no more than that it is not available.
func because(message, why string) string {
	counted, said, _ := strings.Cut(message, ": ")
	if why == "" || said != "" && !strings.HasSuffix(said, "does not have minimum availability.") {
		return message
	}
	return counted + ": " + why
}

func (t *tally) judge(ref api.ObjectRef, live *unstructured.Unstructured, hindered func() string) {
	if apply.Completed(live) {
		t.completed = append(t.completed, ref)
	}
	switch readiness, message := apply.Ready(live); readiness {
	case apply.NotTrackable:
		t.untracked++
	case apply.NotYet:
		message = because(message, hindered())
		t.waiting = append(t.waiting, api.ManifestFailure{
			ObjectRef: ref, Condition: conditionAvailable, Reason: string(readiness), Message: message,
		})
	}
}
