package front

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"flotilla/hub/front/bounds"
	"flotilla/hub/front/forms"
	"flotilla/hub/front/selected"
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
	form      *forms.Form
	namespace string // empty for all
	selector  *selected.Selector
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

// run sends what there is to tell from a place on, until ctx ends, or who watches may look no more, or is so slow that changes are not kept any
// more.
func (w *watcher) run(ctx context.Context, at shelf.Place) {
	defer close(w.results)
	w.look = time.NewTicker(lookEvery)
	defer w.look.Stop()
	if !bounds.Began(ctx, w.flushed) {
		return
	}
	mark := time.NewTicker(bookmarkEvery)
	defer mark.Stop()
	for {
		next, on := w.passOn(ctx, &at)
		if !on {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-w.look.C:
			if !w.may(ctx) {
				return
			}
		case <-mark.C:
			if w.bookmarks && !w.mark(ctx, at.Number, false) {
				return
			}
		}
	}
}

// hold waits for room for so many bytes, and has it until the next event was taken.
func (w *watcher) hold(ctx context.Context, bytes int64) bool {
	turns.Free(ctx, turns.Answered)
	return turns.Hold(ctx, turns.Answered, bytes) == nil
}

// passOn sends what there is to tell at a place, which it moves. It returns what is closed at the next change.
func (w *watcher) passOn(ctx context.Context, at *shelf.Place) (next <-chan struct{}, on bool) {
	for on = true; next == nil && on; {
		if next, on = w.pass(ctx, at); on && w.initial && at.All {
			w.initial = false
			on = w.mark(ctx, at.Number, true)
		}
	}
	return next, on
}

// pass sends one event. While it waits for room it keeps no object, and what it decodes and sends has that room.
func (w *watcher) pass(ctx context.Context, at *shelf.Place) (next <-chan struct{}, on bool) {
	for room := int64(0); ; {
		told, is, next, kept := w.shelf.Next(at, w.chooses)
		switch {
		case !kept:
			_ = w.hold(ctx, 0) && w.send(ctx, watch.Error, expired(at.Number))
			return nil, false
		case !is:
			return next, true
		}
		if takes := w.takes(&told); takes > room {
			room = takes
			if turns.Free(ctx, turns.Answered); !turns.Try(ctx, turns.Answered, takes) {
				told = shelf.Change{}
				if !w.hold(ctx, takes) {
					return nil, false
				}
				continue
			}
		}
		kind, object := w.event(&told)
		at.Passed(&told)
		told = shelf.Change{} // who is slow keeps the event alone
		if object == nil {
			turns.Free(ctx, turns.Answered)
			return nil, true
		}
		return nil, w.send(ctx, kind, object)
	}
}

// takes is how much memory the event of a change takes, with its form.
func (w *watcher) takes(c *shelf.Change) int64 {
	most := c.Now.Extent
	if c.Before != nil {
		most = most.Or(c.Before.Extent)
	}
	return c.Weight() + w.form.Takes(most, most)
}

// chooses says that an item is seen through the selectors or, where it is not decoded, may be.
func (w *watcher) chooses(one *shelf.Item) bool {
	return (w.namespace == "" || one.Namespace == w.namespace) &&
		w.selector.Chooses(&selected.Object{Digest: one.Digest(), Name: one.Name, Labels: one.Labels, Whole: one.Object})
}

// event is a change as it is seen through the selectors: what begins to match is added, what ends to is deleted. Without an object it is not seen.
func (w *watcher) event(c *shelf.Change) (kind watch.EventType, object *unstructured.Unstructured) {
	now := c.Now.Whole()
	was := c.Before != nil && w.chooses(c.Before)
	switch is := c.Kind != watch.Deleted && w.chooses(now); {
	case is && was:
		return watch.Modified, now.Object
	case is:
		return watch.Added, now.Object
	case was:
		last := c.Before.Object.DeepCopy()
		last.SetResourceVersion(shelf.Printed(c.Number))
		return watch.Deleted, last
	}
	return "", nil
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
