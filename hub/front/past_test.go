package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/front/selected"
	"flotilla/hub/front/shelf"
	"flotilla/hub/front/turns"
	"flotilla/tests/elsewhen"
)

// changingDoor has an object a, and one b that is large and changes.
type changingDoor struct {
	nowhere
	revision *atomic.Int64
	deletes  func()
}

// watched answers a wait for another revision than the one that is known, at once.
func watched(now int64, asked *api.WatchRequest, answer any) {
	mark := fmt.Sprint(now)
	*answer.(*api.WatchResponse) = api.WatchResponse{Mark: mark, Changed: asked.After != mark}
}

// open is a front before the door, and what answers for ConfigMaps.
func (d changingDoor) open(t *testing.T, most shelf.Bounds) (*Front, *storage) {
	t.Helper()
	d.revision.Store(1)
	f, err := New(Options{Door: d, Version: "test", Now: elsewhen.Now, Log: zerolog.Nop(), Bounds: most})
	require.NoError(t, err)
	t.Cleanup(f.Close)
	for k, way := range f.now.Load().ways {
		if k.Kind == "ConfigMap" {
			return f, way.storage
		}
	}
	t.Fatal("no ConfigMaps are served")
	return nil, nil
}

// ofEve is how much room there is for eve, in two requests.
const ofEve = 32 << 20

// waits is an error unless eve waits for room: then nobody of hers passes, though there is room for them.
func waits(t *testing.T, f *Front) error {
	t.Helper()
	turn, err := f.turns.Writing.Enter("eve")
	require.NoError(t, err)
	defer turn.Leave()
	if turns.Try(turns.With(t.Context(), turn), turns.Answered, 1) {
		return errors.New("eve does not wait")
	}
	return nil
}

// holds says that eve holds so many bytes or more.
func holds(t *testing.T, f *Front, bytes int64) bool {
	t.Helper()
	free := true
	for _, part := range []int64{ofEve / 2, ofEve/2 - bytes + 1} {
		turn, err := f.turns.Writing.Enter("eve")
		require.NoError(t, err)
		defer turn.Leave()
		free = free && turns.Try(turns.With(t.Context(), turn), turns.Answered, part)
	}
	return !free
}

// asking is a request of eve in the namespace shop.
func asking(t *testing.T, f *Front) (context.Context, *turns.Turn) {
	t.Helper()
	turn, err := f.turns.Watching.Enter("eve")
	require.NoError(t, err)
	return turns.With(genericrequest.WithNamespace(t.Context(), "shop"), turn), turn
}

func (d changingDoor) raw(name string, revision int64) json.RawMessage {
	fields := ""
	if name == "b" {
		fields = strings.Repeat(`,{"a":1}`, 2000)
	}
	return json.RawMessage(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"shop","uid":"u","resourceVersion":"1.%d"},"x":[{}%s],"text":"%d"}`,
		name, revision, fields, revision))
}

func (d changingDoor) Ask(_ context.Context, _ api.Caller, verb string, question, answer any) error {
	now := d.revision.Load()
	switch asked := question.(type) {
	case *api.WatchRequest:
		watched(now, asked, answer)
	case *api.DeleteRequest:
		d.deletes()
		*answer.(*api.ApplyResult) = api.ApplyResult{Action: api.ActionDeleted}
	case *api.GetRequest:
		answer.(*api.GetResponse).Object = d.raw(asked.Name, now)
	case *api.ListRequest:
		*answer.(*api.ListResponse) = api.ListResponse{
			ResourceVersion: fmt.Sprintf("1.%d", now), Specs: []string{"", ""}, Items: []json.RawMessage{d.raw("a", 1), d.raw("b", now)},
		}
	default:
		return fmt.Errorf("asked to %s", verb)
	}
	return nil
}

// Whoever waits, for room or until they take what they are sent, keeps nothing of what was there: it is forgotten, and they see what is there
// later.
func TestWhoWaitsKeepsNoPast(t *testing.T) {
	t.Parallel()
	text := func(o any) string {
		if status, is := o.(*metav1.Status); is {
			return string(status.Reason)
		}
		u := o.(*unstructured.Unstructured)
		said, _, _ := unstructured.NestedString(u.Object, "text")
		return u.GetName() + " " + said
	}
	for name, c := range map[string]struct {
		room bool // there is none until they have waited
		ask  func(ctx context.Context, s *storage, waited <-chan struct{}) (string, error)
	}{
		"a get": {true, func(ctx context.Context, s *storage, _ <-chan struct{}) (string, error) {
			got, err := s.Get(ctx, "b", &metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			return text(got), nil
		}},
		"a list": {true, func(ctx context.Context, s *storage, _ <-chan struct{}) (string, error) {
			got, err := s.List(ctx, &metainternalversion.ListOptions{})
			if err != nil {
				return "", err
			}
			return text(&got.(*unstructured.UnstructuredList).Items[1]), nil
		}},
		"a watch that waits for room": {true, func(ctx context.Context, s *storage, _ <-chan struct{}) (string, error) {
			w, err := s.Watch(ctx, &metainternalversion.ListOptions{})
			if err != nil {
				return "", err
			}
			<-w.ResultChan()
			return text((<-w.ResultChan()).Object), nil
		}},
		"a watch that nobody takes": {false, func(ctx context.Context, s *storage, waited <-chan struct{}) (string, error) {
			w, err := s.Watch(ctx, &metainternalversion.ListOptions{})
			if err != nil {
				return "", err
			}
			<-waited
			<-w.ResultChan()
			return text((<-w.ResultChan()).Object), nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := shelf.Usual
			most.Kept = 1 << 20 // room for one b, and for no change of it
			door := changingDoor{revision: &atomic.Int64{}}
			f, of := door.open(t, most)
			var held []*turns.Turn
			if c.room {
				for range 2 {
					turn, err := f.turns.Reading.Enter("eve")
					require.NoError(t, err)
					require.NoError(t, turn.Hold(t.Context(), turns.Answered, ofEve/2-4<<10))
					held = append(held, turn)
				}
			}
			ctx, turn := asking(t, f)
			defer turn.Leave()
			_, _, err := of.shelf(ctx).Kept(ctx, "") // so that what is got is of the shelf
			require.NoError(t, err)
			waited := make(chan struct{})
			answered := make(chan string, 1)
			go func() {
				said, err := c.ask(ctx, of, waited)
				answered <- fmt.Sprint(said, err)
			}()
			bustest.Eventually(t, func() error {
				if c.room {
					return waits(t, f)
				}
				if !holds(t, f, 1) {
					return errors.New("nothing is sent")
				}
				return nil
			})
			for range 2 {
				var past weak.Pointer[unstructured.Unstructured]
				func() {
					found, _, err := of.shelf(ctx).Kept(ctx, "")
					require.NoError(t, err)
					past = weak.Make(found[1].Object)
				}()
				door.revision.Add(1)
				_, _, err := of.shelf(ctx).Kept(ctx, "")
				require.NoError(t, err)
				bustest.Eventually(t, func() error {
					if runtime.GC(); past.Value() != nil {
						return errors.New("somebody keeps it")
					}
					return nil
				})
			}
			close(waited)
			for _, turn := range held {
				turn.Leave()
			}
			want := []string{fmt.Sprintf("b %d<nil>", door.revision.Load())}
			if strings.HasPrefix(name, "a watch") { // the changes meanwhile are not kept
				want = append(want, string(metav1.StatusReasonExpired)+"<nil>")
			}
			require.Contains(t, want, <-answered)
		})
	}
}

// Over a websocket nobody says when an event was taken: its room is held until the next one.
func TestAWebsocketHoldsRoomForItsLastEvent(t *testing.T) {
	t.Parallel()
	f, of := changingDoor{revision: &atomic.Int64{}}.open(t, shelf.Usual)
	ctx, turn := asking(t, f)
	w, err := of.Watch(ctx, &metainternalversion.ListOptions{})
	require.NoError(t, err)
	<-w.ResultChan()
	<-w.ResultChan()
	for range 1000 { // the watch goes on meanwhile
		require.True(t, holds(t, f, 500<<10), "the last is large")
	}
	w.Stop()
	for range w.ResultChan() {
		t.Error("there are two objects")
	}
	turn.Leave()
	bustest.Eventually(t, func() error {
		if holds(t, f, 1) {
			return errors.New("room is held")
		}
		return nil
	})
}

// While the objects of a list are deleted there is room for all of them.
func TestWhatIsDeletedTogetherHoldsRoom(t *testing.T) {
	t.Parallel()
	deletes := func() {}
	door := changingDoor{revision: &atomic.Int64{}, deletes: func() { deletes() }}
	f, of := door.open(t, shelf.Usual)
	deleted := 0
	deletes = func() {
		deleted++
		require.True(t, holds(t, f, 500<<10))
	}
	ctx, turn := asking(t, f)
	defer turn.Leave()
	_, err := of.DeleteCollection(ctx, nil, &metav1.DeleteOptions{}, &metainternalversion.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, 2, deleted)
}

// A page holds room for as many objects as it has, and not for those behind them.
func TestAPageHoldsRoomForItsObjects(t *testing.T) {
	t.Parallel()
	f, of := changingDoor{revision: &atomic.Int64{}}.open(t, shelf.Usual)
	ctx, turn := asking(t, f)
	defer turn.Leave()
	_, err := of.List(ctx, &metainternalversion.ListOptions{Limit: 1})
	require.NoError(t, err)
	require.True(t, holds(t, f, 500))
	require.False(t, holds(t, f, 100<<10), "the second is large")
}

// A page holds one object at least, however large, and there is room for that before it is decoded.
func TestThereIsRoomForTheFirstOfAPage(t *testing.T) {
	t.Parallel()
	f, of := changingDoor{revision: &atomic.Int64{}}.open(t, shelf.Bounds{Kept: 400 << 10, Page: 4 << 10, List: 16 << 20})
	ctx, turn := asking(t, f)
	defer turn.Leave()
	found, err := of.List(ctx, &metainternalversion.ListOptions{Limit: 1, Continue: selected.Token("shop/a")})
	require.NoError(t, err)
	require.Len(t, found.(*unstructured.UnstructuredList).Items, 1)
	require.True(t, holds(t, f, 500<<10))
}

// Who asks for what is there at first is told where that ends, behind all of it.
func TestABookmarkEndsWhatWasThereAtFirst(t *testing.T) {
	t.Parallel()
	_, of := changingDoor{revision: &atomic.Int64{}}.open(t, shelf.Usual)
	all := true
	w, err := of.Watch(genericrequest.WithNamespace(t.Context(), "shop"), &metainternalversion.ListOptions{SendInitialEvents: &all, AllowWatchBookmarks: true})
	require.NoError(t, err)
	defer w.Stop()
	for _, want := range []watch.EventType{watch.Added, watch.Added, watch.Bookmark} {
		e := <-w.ResultChan()
		require.Equal(t, want, e.Type)
		require.Equal(t, want == watch.Bookmark, e.Object.(*unstructured.Unstructured).GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true")
	}
}
