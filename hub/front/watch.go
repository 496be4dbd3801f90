package front

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"flotilla/hub/front/bounds"
	"flotilla/hub/front/shelf"
	"flotilla/hub/front/turns"
)

const (
	// bookmarkEvery is how often who watches is told how far the shelf is.
	bookmarkEvery = 30 * time.Second
	// lookEvery is how often it is looked whether who watches may look still.
	lookEvery = time.Second
)

// watcher is one who watches a shelf.
type watcher struct {
	shelf     *shelf.Shelf
	choose    func(*unstructured.Unstructured) bool
	mayChoose func(name string, labelled map[string]string) bool // for what is not decoded yet
	bookmarks bool
	initial   bool // a bookmark ends what was there at first
	may       func(context.Context) bool
	results   chan watch.Event
	flushed   <-chan struct{} // receives when all so far was taken, at first the header; nil for a websocket, which does not say
	look      *time.Ticker    // when it is looked whether they may look still
	stop      context.CancelFunc
}

// ResultChan is where events come.
func (w *watcher) ResultChan() <-chan watch.Event { return w.results }

// Stop ends the watch.
func (w *watcher) Stop() { w.stop() }

// run sends events until ctx ends, or who watches may look no more, or is so slow that changes are not kept any more.
func (w *watcher) run(ctx context.Context, first []*shelf.Item, after uint64) {
	defer close(w.results)
	w.look = time.NewTicker(lookEvery)
	defer w.look.Stop()
	if !bounds.Began(ctx, w.flushed) || !w.begin(ctx, first, after) {
		return
	}
	mark := time.NewTicker(bookmarkEvery)
	defer mark.Stop()
	for {
		next, number, on := w.passOn(ctx, after)
		if !on {
			return
		}
		after = number
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-w.look.C:
			if !w.may(ctx) {
				return
			}
		case <-mark.C:
			if w.bookmarks && !w.mark(ctx, after, false) {
				return
			}
		}
	}
}

// begin sends what is there at first. Nothing is decoded for it before there is room for what it becomes.
func (w *watcher) begin(ctx context.Context, first []*shelf.Item, number uint64) bool {
	for _, one := range first {
		_, name, _ := strings.Cut(one.Key, "/")
		if !w.mayChoose(name, one.Labels) {
			continue
		}
		if one.Object != nil && !w.choose(one.Object) {
			continue
		}
		if !w.hold(ctx, max(int64(one.Size), one.Decoded())) {
			return false
		}
		if one = one.Whole(); w.choose(one.Object) && !w.send(ctx, watch.Added, one.Object) {
			return false
		}
	}
	return !w.initial || w.mark(ctx, number, true)
}

// hold waits for room for so many bytes, and has it until the next event was taken.
func (w *watcher) hold(ctx context.Context, bytes int64) bool {
	turns.Free(ctx, turns.Answered)
	return turns.Hold(ctx, turns.Answered, bytes) == nil
}

// passOn sends what changed after a number. It returns what is closed at the next change, and the number up to which was sent.
func (w *watcher) passOn(ctx context.Context, after uint64) (next <-chan struct{}, number uint64, on bool) {
	changes, number, next, kept := w.shelf.Since(after)
	if !kept {
		_ = w.hold(ctx, 0) && w.send(ctx, watch.Error, expired(after))
		return nil, 0, false
	}
	for i := range changes {
		if !w.tell(ctx, &changes[i]) {
			return nil, 0, false
		}
	}
	return next, max(after, number), true
}

// tell sends a change as it is seen through the selectors: what begins to match is added, what ends to is deleted.
func (w *watcher) tell(ctx context.Context, c *shelf.Change) bool {
	now := c.Now
	was := c.Before != nil && w.choose(c.Before.Object)
	is := c.Kind != watch.Deleted && w.choose(now.Object)
	if (is || was) && !w.hold(ctx, int64(now.Size)) {
		return false
	}
	switch {
	case is && was:
		return w.send(ctx, watch.Modified, now.Object)
	case is:
		return w.send(ctx, watch.Added, now.Object)
	case was:
		last := c.Before.Object.DeepCopy()
		last.SetResourceVersion(shelf.Printed(c.Number))
		return w.send(ctx, watch.Deleted, last)
	}
	return true
}

// mark sends how far the shelf is.
func (w *watcher) mark(ctx context.Context, number uint64, initial bool) bool {
	return w.hold(ctx, 0) && w.send(ctx, watch.Bookmark, w.bookmark(number, initial))
}

// send waits for who watches, for as long as they may look. An event holds room as an answer does, from before it is made until it was taken, of a
// websocket until the next one; for whom there is none, the watch ends.
func (w *watcher) send(ctx context.Context, kind watch.EventType, o runtime.Object) bool {
	to := w.results
	var taken <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			return false // it may be encoded still: room is held until the turn is over
		case to <- watch.Event{Type: kind, Object: o}:
			if to, taken = nil, w.flushed; taken == nil {
				return true
			}
		case <-taken:
			turns.Free(ctx, turns.Answered)
			return true
		case <-w.look.C:
			if !w.may(ctx) {
				return false
			}
		}
	}
}

func (w *watcher) bookmark(number uint64, initial bool) runtime.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(w.shelf.Kind().GroupVersionKind)
	u.SetResourceVersion(shelf.Printed(number))
	if initial {
		u.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return u
}

// expired says that changes after a number are not kept any more.
func expired(after uint64) *metav1.Status {
	err := apierrors.NewResourceExpired("changes after resourceVersion " + shelf.Printed(after) + " are not kept: list again, and watch from there")
	return &err.ErrStatus
}
