package draft

import (
	"slices"
	"time"

	"flotilla/core/api"
)

// A client that got no answer asks again for a while, with the id of its request, and others may have written the
// object in between: so a record remembers the requests of a while, not only the one that wrote it last.
const (
	earlierFor  = 2 * time.Minute // clients give up after 45 s
	mostEarlier = 32
)

// earlier is what the draft's request was answered when it wrote an object that others wrote since, nil when it did
// not.
func (f *Draft) earlier(object api.ObjectRef, past []api.EarlierRequest) *api.ApplyResult {
	at := slices.IndexFunc(past, func(p api.EarlierRequest) bool { return f.request != "" && p.Request == f.request })
	if at < 0 {
		return nil
	}
	p := &past[at]
	return &api.ApplyResult{
		Object: object, Action: p.Action, UID: p.UID, Generation: p.Generation, ResourceVersion: p.ResourceVersion,
	}
}

// past is what a record that is written again is to remember of the requests before this one.
func (f *Draft) past(stored *api.Spec, revision uint64) []api.EarlierRequest {
	past := slices.Clone(stored.Earlier)
	if stored.Request != "" {
		past = append(past, api.EarlierRequest{
			Request: stored.Request, Action: stored.Action, UID: stored.UID, Generation: stored.Generation,
			ResourceVersion: f.Version(revision), At: f.now,
		})
	}
	since := f.now.Add(-earlierFor)
	past = slices.DeleteFunc(past, func(p api.EarlierRequest) bool { return p.At.Time.Before(since) })
	return past[max(0, len(past)-mostEarlier):]
}
