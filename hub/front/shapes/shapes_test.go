package shapes

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"flotilla/bus/bustest"
	"flotilla/hub/front/turns"
)

// house makes documents.
type house struct {
	*Maker
	t   *testing.T
	all *turns.All
}

func newHouse(t *testing.T) *house {
	t.Helper()
	all := turns.NewAll()
	return &house{&Maker{
		Go: func(work func()) bool {
			go work()
			return true
		},
		Turns: all.Reading,
		Refuse: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
		},
	}, t, all}
}

// of is what makes a document.
func of(title string) func() *spec3.OpenAPI {
	return func() *spec3.OpenAPI {
		return &spec3.OpenAPI{Version: "3.0.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: title, Version: "1"}}, Paths: &spec3.Paths{}}
	}
}

// slow makes a document once it may, and says that it begins.
func slow(title string, began chan<- string, may <-chan struct{}) func() *spec3.OpenAPI {
	return func() *spec3.OpenAPI {
		began <- title
		<-may
		return of(title)()
	}
}

const at = "apis/good.example.com/v1"

// ask asks for something.
func ask(ctx context.Context, all http.Handler, path, accept string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	all.ServeHTTP(w, r)
	return w
}

// title is that of a document.
func title(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code)
	var found spec3.OpenAPI
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &found))
	return found.Info.Title
}

// A document is made once, when it is asked for first; one that cannot be made hides no other, and is not tried again.
func TestADocumentIsMadeOnce(t *testing.T) {
	t.Parallel()
	h, made, tried := newHouse(t), 0, 0
	all := All{at: h.New(at, "1", func() *spec3.OpenAPI {
		made++
		return of("good")()
	}), "apis/bad.example.com/v1": h.New("apis/bad.example.com/v1", "1", func() *spec3.OpenAPI {
		tried++
		panic("odd")
	})}
	require.Zero(t, made)
	for range 2 {
		list := ask(t.Context(), all, Root, "")
		var found handler3.OpenAPIV3Discovery
		require.NoError(t, json.Unmarshal(list.Body.Bytes(), &found))
		require.Len(t, found.Paths, 1)
		url := found.Paths[at].ServerRelativeURL
		require.Contains(t, url, "/openapi/v3/apis/good.example.com/v1?hash=")
		require.Equal(t, "good", title(t, ask(t.Context(), all, url, "application/json")))
		require.Equal(t, http.StatusNotFound, ask(t.Context(), all, "/openapi/v3/apis/none.example.com/v1", "").Code)
		require.Equal(t, http.StatusInternalServerError, ask(t.Context(), all, "/openapi/v3/apis/bad.example.com/v1", "").Code)
		packed := ask(t.Context(), all, Root+"/"+at, "application/com.github.proto-openapi.spec.v3@v1.0+protobuf")
		require.Equal(t, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", packed.Header().Get("Content-Type"))
		require.NotEmpty(t, packed.Body.Bytes())
		require.Equal(t, http.StatusNotAcceptable, ask(t.Context(), all, Root+"/"+at, "text/html").Code)
	}
	require.Equal(t, 1, made)
	require.Equal(t, 1, tried)
}

// Documents are made one at a time, and each for all who wait for it; of changes that nobody asks for meanwhile none is made (H49).
func TestDocumentsAreMadeOneAtATime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	began, may := make(chan string, 10), make(chan struct{})
	const there = "apis/other.example.com/v1"
	all := All{at: h.New(at, "1", slow("first", began, may)), there: h.New(there, "1", slow("other", began, may))}
	var found sync.Map
	var waiting sync.WaitGroup
	come := func(name, path string) {
		waiting.Go(func() { found.Store(name, ask(t.Context(), all, Root+"/"+path, "application/json")) })
	}
	waitsFor := func(path string, count int) {
		bustest.Eventually(t, func() error {
			d := all[path]
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, m := range []*making{d.forms["application/json"].now, d.forms["application/json"].next} {
				if m != nil && m.waiting == count {
					return nil
				}
			}
			return errors.New("they do not wait yet")
		})
	}
	come("a", at)
	require.Equal(t, "first", <-began)
	come("b", at)
	waitsFor(at, 2)
	all[at].Changed("1", slow("second", began, may))
	all[at].Changed("1", slow("third", began, may))
	come("c", at)
	come("d", at)
	waitsFor(at, 2)
	require.Empty(t, began, "one is made")
	close(may)
	waiting.Wait()
	require.Equal(t, "third", <-began)
	come("e", there)
	waiting.Wait()
	require.Equal(t, "other", <-began)
	for name, want := range map[string]string{"a": "first", "b": "first", "c": "third", "d": "third", "e": "other"} {
		answer, _ := found.Load(name)
		require.Equal(t, want, title(t, answer.(*httptest.ResponseRecorder)), name)
	}
}

// Two documents are not made at once (H49).
func TestNoTwoDocumentsAreMadeAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var making, most atomic.Int64
	all := All{}
	for _, path := range []string{"apis/a.example.com/v1", "apis/b.example.com/v1", "apis/c.example.com/v1", "apis/d.example.com/v1"} {
		all[path] = h.New(path, "1", func() *spec3.OpenAPI {
			now := making.Add(1)
			defer making.Add(-1)
			most.Store(max(most.Load(), now))
			for range 1000 { // others would begin meanwhile
				runtime.Gosched()
			}
			return of(path)()
		})
	}
	var waiting sync.WaitGroup
	for path := range all {
		for range 5 {
			waiting.Go(func() { _ = ask(t.Context(), all, Root+"/"+path, "application/json") })
		}
	}
	waiting.Wait()
	require.Equal(t, int64(1), most.Load())
}

// Where a document takes long to make anew, whoever asks has the former one after some time, with its own hash; who gave up has none made (H49).
func TestTheFormerDocumentIsServedMeanwhile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	all := All{at: h.New(at, "1", of("first"))}
	before := ask(t.Context(), all, Root+"/"+at, "application/json")
	require.Equal(t, "first", title(t, before))
	began, may := make(chan string, 10), make(chan struct{})
	all[at] = all[at].Changed("1", slow("second", began, may))
	meanwhile := ask(t.Context(), all, Root+"/"+at, "application/json")
	require.Equal(t, "first", title(t, meanwhile))
	require.Equal(t, before.Header().Get("Etag"), meanwhile.Header().Get("Etag"))
	require.Contains(t, ask(t.Context(), all, Root, "").Body.String(), strings.Trim(before.Header().Get("Etag"), `"`))
	require.Equal(t, "second", <-began)
	ended, end := context.WithCancel(t.Context())
	end()
	require.Equal(t, "first", title(t, ask(ended, all, Root+"/"+at, "application/json")))
	all["apis/other.example.com/v1"] = h.New("apis/other.example.com/v1", "1", slow("never", began, may))
	require.Equal(t, http.StatusTooManyRequests, ask(ended, all, "/openapi/v3/apis/other.example.com/v1", "application/json").Code)
	all[at] = all[at].Changed("1", slow("third", began, may))
	close(may)
	after := ask(t.Context(), all, Root+"/"+at, "application/json")
	require.Equal(t, "third", title(t, after))
	require.NotEqual(t, before.Header().Get("Etag"), after.Header().Get("Etag"))
	old := ask(t.Context(), all, Root+"/"+at+"?hash="+strings.Trim(before.Header().Get("Etag"), `"`), "application/json")
	require.Equal(t, http.StatusMovedPermanently, old.Code)
	require.Contains(t, old.Header().Get("Location"), strings.Trim(after.Header().Get("Etag"), `"`))
	require.Equal(t, "third", <-began)
	bustest.Eventually(t, func() error {
		d := all["apis/other.example.com/v1"]
		d.mu.Lock()
		defer d.mu.Unlock()
		if f := d.forms["application/json"]; f.next != nil || f.now != nil {
			return errors.New("it may be made still")
		}
		return nil
	})
	require.Empty(t, began)
}

// A document has room while it is made, and while somebody takes it; who finds none is refused, or has the former (H49).
func TestDocumentsHoldRoom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	over, end := context.WithCancel(t.Context())
	end()
	free := func(person string, bytes int64) bool {
		turn, err := h.all.Reading.Enter(person)
		require.NoError(t, err)
		defer turn.Leave()
		return turn.Hold(over, turns.Answered, bytes) == nil
	}
	began, may := make(chan string, 1), make(chan struct{})
	all := All{at: h.New(at, "1", slow(strings.Repeat("long", 1<<20), began, may))}
	turn, err := h.all.Reading.Enter("eve")
	require.NoError(t, err)
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- ask(turns.With(t.Context(), turn), all, Root+"/"+at, "application/json") }()
	<-began
	other, err := h.all.Reading.Enter(maker)
	require.NoError(t, err)
	require.NoError(t, other.Hold(over, turns.Answered, takes), "a second finds room")
	require.False(t, free(maker, 1))
	close(may)
	require.Equal(t, http.StatusOK, (<-done).Code)
	large, err := h.all.Reading.Enter("eve")
	require.NoError(t, err)
	require.NoError(t, large.Hold(over, turns.Answered, takes))
	require.False(t, free("eve", 13<<20), "the answer has room")
	turn.Leave()
	require.True(t, free("eve", 13<<20))
}
