package front

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// bookmarkEvery is how often who watches is told how far the shelf is.
	bookmarkEvery = 30 * time.Second
	// lookEvery is how often it is looked whether who watches may look still.
	lookEvery = time.Second
)

// watcher is one who watches a shelf.
type watcher struct {
	shelf     *shelf
	choose    func(*unstructured.Unstructured) bool
	bookmarks bool
	initial   bool // a bookmark ends what was there at first
	may       func(context.Context) bool
	results   chan watch.Event
	look      *time.Ticker // when it is looked whether they may look still
	stop      context.CancelFunc
}

// ResultChan is where events come.
func (w *watcher) ResultChan() <-chan watch.Event { return w.results }

// Stop ends the watch.
func (w *watcher) Stop() { w.stop() }

// run sends events until ctx ends, or who watches may look no more, or is so slow that changes are not kept any more.
func (w *watcher) run(ctx context.Context, first []*item, after uint64) {
	defer close(w.results)
	w.look = time.NewTicker(lookEvery)
	defer w.look.Stop()
	if !w.begin(ctx, first, after) {
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
			if w.bookmarks && !w.send(ctx, watch.Bookmark, w.bookmark(after, false)) {
				return
			}
		}
	}
}

// begin sends what is there at first.
func (w *watcher) begin(ctx context.Context, first []*item, number uint64) bool {
	for _, one := range first {
		if w.choose(one.object) && !w.send(ctx, watch.Added, one.object) {
			return false
		}
	}
	return !w.initial || w.send(ctx, watch.Bookmark, w.bookmark(number, true))
}

// passOn sends what changed after a number. It returns what is closed at the next change, and the number up to which was sent.
func (w *watcher) passOn(ctx context.Context, after uint64) (next <-chan struct{}, number uint64, on bool) {
	changes, number, next, kept := w.shelf.since(after)
	if !kept {
		_ = w.send(ctx, watch.Error, expired(after))
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
func (w *watcher) tell(ctx context.Context, c *change) bool {
	was := c.before != nil && w.choose(c.before)
	is := c.kind != watch.Deleted && w.choose(c.now)
	switch {
	case is && was:
		return w.send(ctx, watch.Modified, c.now)
	case is:
		return w.send(ctx, watch.Added, c.now)
	case was:
		last := c.before.DeepCopy()
		last.SetResourceVersion(printed(c.number))
		return w.send(ctx, watch.Deleted, last)
	}
	return true
}

// send waits for who watches, for as long as they may look.
func (w *watcher) send(ctx context.Context, kind watch.EventType, o runtime.Object) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case w.results <- watch.Event{Type: kind, Object: o}:
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
	u.SetGroupVersionKind(w.shelf.kind.GroupVersionKind)
	u.SetResourceVersion(printed(number))
	if initial {
		u.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return u
}

// expired says that changes after a number are not kept any more.
func expired(after uint64) *metav1.Status {
	err := apierrors.NewResourceExpired("changes after resourceVersion " + printed(after) + " are not kept: list again, and watch from there")
	return &err.ErrStatus
}
