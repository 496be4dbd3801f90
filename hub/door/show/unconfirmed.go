package show

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"flotilla/core/api"
)

// remembers is how many members that left are remembered with what they had not confirmed.
const remembers = 1024

// Unconfirmed answers who has not confirmed that an object is gone. Of placements the release tells, also
// once the placement is gone; of members that left this hub remembers.
func (v *View) Unconfirmed(_ context.Context, request *api.UnconfirmedRequest) (any, error) {
	table, name := v.records.Place(request.Object)
	switch table {
	case v.records.Placements:
		return v.unconfirmedPlacement(name, request)
	case v.records.Members:
		if spec, _, found := v.records.Members.Get(name); found && asks(request, spec.UID) {
			return v.unconfirmedMember(name)
		}
		return v.Departed.of(name, request), nil
	}
	return &api.UnconfirmedResponse{}, nil
}

// asks says whether a request is about the object of a uid.
func asks(request *api.UnconfirmedRequest, uid string) bool {
	return request.UID == "" || request.UID == uid
}

func (v *View) unconfirmedPlacement(name string, request *api.UnconfirmedRequest) (*api.UnconfirmedResponse, error) {
	answer := &api.UnconfirmedResponse{}
	release, _, found, err := v.records.Releases.Find(name)
	if err != nil || !found {
		return answer, err
	}
	for i := range release.Entries {
		entry := &release.Entries[i]
		if !asks(request, entry.UID) {
			continue
		}
		w := v.Withdrawal(entry.Member)
		w.Since = entry.Since
		w.Message = v.saidOf(name, entry)
		answer.Members = append(answer.Members, w)
	}
	return answer, nil
}

// saidOf is what a member says of a withdrawal that it has not confirmed.
func (v *View) saidOf(placement string, entry *api.ReleaseEntry) string {
	result := v.results.Of(entry.Member, placement)
	if result == nil || result.UID != entry.UID || result.Generation != entry.Generation || result.Withdrawn {
		return ""
	}
	return result.AppliedMessage
}

func (v *View) unconfirmedMember(name string) (*api.UnconfirmedResponse, error) {
	left, err := v.RemainsOn(name)
	if err != nil || len(left.Names) == 0 {
		return &api.UnconfirmedResponse{}, err
	}
	w := v.Withdrawal(name)
	w.Since = metav1.NewTime(left.Since)
	return &api.UnconfirmedResponse{Members: []api.Withdrawal{w}, Placements: left.Names}, nil
}

// Withdrawal begins what is told of a member that has not confirmed. A member that leaves is judged by
// its heartbeats too: whether it can be heard of matters more here than that it leaves.
func (v *View) Withdrawal(member string) api.Withdrawal {
	w := api.Withdrawal{ClusterName: member}
	record, _, seen := v.records.Seen.Get(member)
	if !seen {
		return w
	}
	w.State, w.StateSince, w.LastSeen = record.State, record.Since, v.lastSeen(&record)
	if since := w.LastSeen.Add(v.options.Thresholds.Heartbeat); w.State == api.MemberLeaving && v.store.Now().After(since) {
		w.State, w.StateSince = api.MemberUnknown, metav1.NewTime(since)
	}
	return w
}

// withState adds to names of members since when those are Unknown that are.
func (v *View) withState(members []string) []string {
	out := make([]string, len(members))
	for i, member := range members {
		out[i] = member
		if w := v.Withdrawal(member); w.State == api.MemberUnknown {
			out[i] += fmt.Sprintf(" (Unknown for %s)", duration.HumanDuration(max(0, v.store.Now().Sub(w.StateSince.Time))))
		}
	}
	return out
}

// Departed remembers of members that left what they had not confirmed, by name, the newest of them.
type Departed struct {
	mu    sync.Mutex
	by    map[string]departure
	order []string
}

type departure struct {
	uid  string
	what *api.UnconfirmedResponse
}

func newDeparted() *Departed { return &Departed{by: map[string]departure{}} }

// Note remembers what a member of a uid had not confirmed when it left.
func (l *Departed) Note(name, uid string, what *api.UnconfirmedResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.by[name]; !known {
		l.order = append(l.order, name)
	}
	l.by[name] = departure{uid, what}
	if len(l.order) > remembers {
		delete(l.by, l.order[0])
		l.order = l.order[1:]
	}
}

// Forget is called when the member left again, and confirmed it.
func (l *Departed) Forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.by, name)
	l.order = slices.DeleteFunc(l.order, func(n string) bool { return n == name })
}

func (l *Departed) of(name string, request *api.UnconfirmedRequest) *api.UnconfirmedResponse {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, known := l.by[name]; known && asks(request, d.uid) {
		return d.what
	}
	return &api.UnconfirmedResponse{}
}
