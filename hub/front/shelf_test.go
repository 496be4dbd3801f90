package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/watch"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// Of the changes of a kind so many are kept for who resumes, and of large objects fewer.
func TestChangesThatAreKeptAreBounded(t *testing.T) {
	of := func(count, size int) (ring []change) {
		for range count {
			ring = append(ring, change{size: size})
		}
		return ring
	}
	require.Zero(t, beyond(nil))
	require.Zero(t, beyond(of(ringLength, 100)))
	require.Equal(t, 10, beyond(of(ringLength+10, 100)))
	require.Zero(t, beyond(of(16, 1<<20)))
	require.Equal(t, 24, beyond(of(40, 1<<20)))
	require.Equal(t, 1, beyond(of(1, ringBytes+1)), "who watches lists anew")
}

// An object that was deleted and made anew between two looks is another one, and who watches is told of both, whatever their numbers.
func TestAnObjectThatWasMadeAnewIsAnother(t *testing.T) {
	t.Parallel()
	object := func(uid, version string) []json.RawMessage {
		return []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":%q,"resourceVersion":%q}}`, uid, version))}
	}
	for _, version := range []string{"1.1", "1.2"} {
		s := newShelf(t.Context(), (&kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap")}).worded(), nil, true)
		first, err := numbered("1.1")
		require.NoError(t, err)
		require.NoError(t, s.take(object("one", "1.1"), []string{"1.1"}, first, "m"))
		second, err := numbered(version)
		require.NoError(t, err)
		require.NoError(t, s.take(object("two", version), []string{version}, second, "m"))
		changes, number, _, kept := s.since(first)
		require.True(t, kept)
		require.Len(t, changes, 2)
		require.Equal(t, []watch.EventType{watch.Deleted, watch.Added}, []watch.EventType{changes[0].kind, changes[1].kind})
		require.Less(t, changes[0].number, changes[1].number)
		require.Equal(t, number, changes[1].number)
		require.EqualValues(t, "one", changes[0].before.GetUID())
		require.EqualValues(t, "two", changes[1].now.GetUID())
	}
}

// quiet is a door behind which there are no objects, or these; it notes who waits for changes.
type quiet struct {
	objects []json.RawMessage
	change  chan struct{}   // each answers a wait
	end     context.Context //nolint:containedctx // ends all waits

	mu            sync.Mutex
	waiting, most int
}

func (q *quiet) Token(context.Context, string) (api.Person, error) { return api.Person{}, nil }

func (q *quiet) Ask(ctx context.Context, _ api.Caller, verb string, question, answer any) error {
	if verb == api.VerbList {
		*answer.(*api.ListResponse) = api.ListResponse{ResourceVersion: "1.1", Items: q.objects, Specs: make([]string, len(q.objects))}
		return nil
	}
	request := question.(*api.WatchRequest)
	answer.(*api.WatchResponse).Mark = "1.1.1"
	if request.After == "" || request.Wait.Duration < time.Millisecond {
		answer.(*api.WatchResponse).Changed = request.After == ""
		return nil
	}
	q.add(1)
	defer q.add(-1)
	select {
	case <-ctx.Done():
	case <-q.end.Done():
	case <-q.change:
	}
	return nil
}

func (q *quiet) add(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting += n
	q.most = max(q.most, q.waiting)
}

// waits says how many wait, or that it is another number.
func (q *quiet) waits(want int) func() error {
	return func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.waiting != want {
			return fmt.Errorf("%d wait", q.waiting)
		}
		return nil
	}
}

// before is a front before a quiet door, by a clock that is put on by so much.
func before(t *testing.T, q *quiet, on *atomic.Int64) *Front {
	t.Helper()
	q.change, q.end = make(chan struct{}), t.Context()
	f, err := New(Options{Door: q, Version: "test", Now: func() time.Time { return elsewhen.Now().Add(time.Duration(on.Load())) }, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f
}

// Who lists a kind leaves nobody waiting for its changes, who watches it one however many they are, and none some time after they have ended; what
// nobody has looked at for long is kept no more, and begins anew.
func TestAKindIsFollowedWhileItIsWatched(t *testing.T) {
	t.Parallel()
	q, on := &quiet{}, &atomic.Int64{}
	f := before(t, q, on)
	ctx := t.Context()
	first := f.builtIn[0]
	for _, k := range f.builtIn {
		_, err := f.now.Load().ways[k].storage.List(ctx, nil)
		require.NoError(t, err)
	}
	f.current(ctx)
	require.Len(t, f.shelves, len(f.builtIn)+1)
	require.Zero(t, q.most)
	var watches []watch.Interface
	for range 3 {
		w, err := f.now.Load().ways[first].storage.Watch(ctx, &metainternalversion.ListOptions{})
		require.NoError(t, err)
		watches = append(watches, w)
	}
	bustest.Eventually(t, q.waits(1))
	require.Equal(t, 1, q.most)
	q.change <- struct{}{}
	bustest.Eventually(t, q.waits(1))
	for _, w := range watches[1:] {
		w.Stop()
		for range w.ResultChan() {
			// until it ends
		}
	}
	on.Add(int64(2 * keptFor))
	f.tidy()
	kept := f.shelf(first, false)
	require.Len(t, f.shelves, 2, "of what is watched, and of definitions")
	require.NoError(t, kept.life.Err())
	bustest.Eventually(t, q.waits(1))

	watches[0].Stop()
	bustest.Eventually(t, func() error {
		if kept.mu.Lock(); kept.looks.watching > 0 {
			kept.mu.Unlock()
			return errors.New("it is watched")
		}
		kept.mu.Unlock()
		return nil
	})
	bustest.Eventually(t, func() error {
		select {
		case q.change <- struct{}{}:
		default: // the wait may have ended already
		}
		return q.waits(0)()
	})
	f.tidy()
	require.Len(t, f.shelves, 2, "it was looked at just now")
	on.Add(int64(keptFor + time.Second))
	f.tidy()
	require.Len(t, f.shelves, 1)
	require.Error(t, kept.life.Err())

	w, err := f.now.Load().ways[first].storage.Watch(ctx, &metainternalversion.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	bustest.Eventually(t, q.waits(1))
	require.NotSame(t, kept, f.shelf(first, false))
}
