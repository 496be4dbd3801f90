package reporter

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"
)

// sweep purges the results of members that nobody knows, each after two sweeps in a row found it so: what
// is just being made must not be taken for what was left behind. Of a member that is known its agent drops
// what is not asked for any more.
func (r *Reporter) sweep(ctx context.Context) (time.Time, error) {
	next := r.store.Now().Add(r.options.Sweep)
	before := r.suspect
	r.suspect = map[string]struct{}{}
	for _, member := range r.store.ResultBatches.Members() {
		if r.store.State.Revision(r.records.members.Key(member)) != 0 { // whether it can be read or not
			continue
		}
		if _, twice := before[member]; !twice {
			r.suspect[member] = struct{}{}
			continue
		}
		if err := r.store.ResultBatches.PurgeMember(ctx, member); err != nil {
			return time.Time{}, fmt.Errorf("sweeping results: %w", err)
		}
		r.options.Log.Info().Str("member", member).Msg("results of a member that is none are purged")
	}
	return next, nil
}

// warnEvery is the least time between two warnings about what one member reports.
const warnEvery = 10 * time.Minute

// refused warns, once in a while, of results that cannot be read.
func (r *Reporter) refused(refusal watch.ResultRefusal) {
	now := r.store.Now()
	r.lines.Of(refusal.Member, r.options.Log.Error).Err(refusal.Err).Str("member", refusal.Member).Str("key", refusal.Key).Msg("results cannot be read and count as none")
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, warned := r.warned[refusal.Member]; warned && now.Before(last.Add(warnEvery)) {
		return
	}
	r.warned[refusal.Member] = now
	r.store.Audit.Record(api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(now), Object: subjects.KindMember + "/" + refusal.Member, Member: refusal.Member,
		Type: "Warning", Reason: "ResultUnreadable", By: "reporter",
		Message: fmt.Sprintf("results of its agent, under key %s of bucket result, cannot be read and count as none: %v", refusal.Key, refusal.Err),
	})
}
