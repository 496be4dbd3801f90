package shapes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"flotilla/hub/front/turns"
)

const (
	// patience is how long somebody waits for a document of which there is a former one.
	patience = 3 * time.Second
	// takes is the room that a document holds while it is made: as much as one answer may.
	takes = 16 << 20
	// maker is who holds it.
	maker = "whoever makes documents"
)

// Maker makes documents, one at a time of all, for all who wait for one.
type Maker struct {
	// Go has work done beside; false where nothing begins any more.
	Go func(work func()) bool
	// Turns are those in which documents are made.
	Turns *turns.Turns
	// Refuse answers with an error.
	Refuse func(http.ResponseWriter, *http.Request, error)

	turn sync.Mutex
}

// Document is that of one version of a group.
type Document struct{ *line }

// line is a document, with those that it was before.
type line struct {
	path string
	by   *Maker

	mu     sync.Mutex
	newest *source
	forms  map[string]*form // by media type
}

// source is what makes a document in each form, once.
type source = handler3.OpenAPIService

// form is a document in one form.
type form struct {
	last      *made   // what was made last, of whatever source
	odd       *source // of which it cannot be made
	now, next *making // what is made, and what will be
}

// made is a document that was made.
type made struct {
	of   *source
	etag string
	size int64
}

// making is a document that is made, for all who wait for it.
type making struct {
	of      *source // once it begins
	waiting int
	done    chan struct{}
	made    *made
	err     error
}

// errOdd says that a document cannot be made.
var errOdd = errors.New("of these kinds no document can be made")

// New returns the document of a path, as "apis/apps/v1".
func (m *Maker) New(path, etag string, document func() *spec3.OpenAPI) *Document {
	return &Document{&line{path: path, by: m, newest: sourceOf(path, etag, document), forms: map[string]*form{}}}
}

// Changed returns the document as it is from now on. What it was before is served until somebody asked for the new one and that is made.
func (d *Document) Changed(etag string, document func() *spec3.OpenAPI) *Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest = sourceOf(d.path, etag, document)
	return &Document{d.line}
}

// sourceOf makes a document when it is asked. What a definition says may be odd, and the library makes documents on goroutines of its own, where a
// panic would end the hub.
func sourceOf(path, etag string, document func() *spec3.OpenAPI) *source {
	s := handler3.NewOpenAPIService()
	s.UpdateGroupVersionLazy(path, cached.Once(cached.Func(func() (made *spec3.OpenAPI, of string, err error) {
		defer recovered(&err)
		return document(), etag, nil
	})))
	return s
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: panicked: %v", errOdd, p)
	}
}

// ServeHTTP answers with the document, in the form that is asked for.
func (d *Document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	media := mediaOf(r)
	if media == "" {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	patient, end := context.WithTimeout(r.Context(), patience)
	defer end()
	found, err := turns.WithRoom(r.Context(), turns.Answered, func() (*made, int64, error) {
		found, err := d.ready(r.Context(), patient, media)
		if err != nil {
			return nil, 0, err
		}
		return found, found.size, nil
	})
	switch {
	case errors.Is(err, errOdd):
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case err != nil:
		d.by.Refuse(w, r, err)
	default:
		found.of.HandleGroupVersion(w, r)
	}
}

// ready is the newest document in a form, once it is made. Where there is a former one it is that, once patience ends.
func (l *line) ready(ctx, patient context.Context, media string) (*made, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.forms[media]
	if f == nil {
		f = &form{}
		l.forms[media] = f
	}
	switch {
	case f.last != nil && f.last.of == l.newest:
		return f.last, nil
	case f.odd == l.newest:
		return nil, errOdd
	}
	m := l.join(f, media)
	if f.last != nil {
		ctx = patient
	}
	m.waiting++
	l.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-m.done:
	}
	l.mu.Lock()
	m.waiting--
	switch {
	case m.made != nil:
		return m.made, nil
	case f.last != nil && !errors.Is(m.err, errOdd):
		return f.last, nil
	case m.err != nil:
		return nil, m.err
	}
	return nil, apierrors.NewTimeoutError("the document is not made yet: ask again", turns.RetryAfter)
}

// join is what makes the newest document, or will.
func (l *line) join(f *form, media string) *making {
	if f.now != nil && f.now.of == l.newest {
		return f.now
	}
	if f.next != nil {
		return f.next
	}
	next := &making{done: make(chan struct{})}
	f.next = next
	if f.now == nil && !l.by.Go(func() { l.makeOn(f, media) }) {
		f.next = nil
		next.err = apierrors.NewServiceUnavailable("this hub ends: ask again")
		close(next.done)
	}
	return next
}

func (l *line) makeOn(f *form, media string) {
	for l.makeNext(f, media) {
	}
}

// makeNext makes what is next, of what is newest then, if somebody waits for it still. It says whether more was asked for meanwhile.
func (l *line) makeNext(f *form, media string) (more bool) {
	l.by.turn.Lock()
	defer l.by.turn.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	m := f.next
	f.next = nil
	defer close(m.done)
	if m.waiting == 0 {
		return false
	}
	m.of, f.now = l.newest, m
	l.mu.Unlock()
	found, err := l.by.make(m.of, l.path, media)
	l.mu.Lock()
	f.now, m.made, m.err = nil, found, err
	switch {
	case err == nil:
		f.last = found
	case errors.Is(err, errOdd):
		f.odd = m.of
	}
	return f.next != nil
}

// make has a source make a document in a form, as soon as there is room for it.
func (m *Maker) make(of *source, path, media string) (found *made, err error) {
	turn, err := m.Turns.Enter(maker)
	if err != nil {
		return nil, err
	}
	defer turn.Leave()
	if err := turns.Hold(turns.With(context.Background(), turn), turns.Answered, takes); err != nil {
		return nil, err
	}
	defer recovered(&err)
	var told answer
	of.HandleGroupVersion(&told, &http.Request{Method: http.MethodHead, URL: &url.URL{Path: Root + "/" + path}, Header: http.Header{"Accept": {media}}})
	etag, err := strconv.Unquote(told.Header().Get("Etag"))
	if err != nil {
		return nil, errOdd
	}
	size, err := strconv.ParseInt(told.Header().Get("Content-Length"), 10, 64)
	return &made{of, etag, size}, err
}

// formless has one small document, and tells which form of it a request asks for.
var formless = sourceOf("none", "none", func() *spec3.OpenAPI {
	return &spec3.OpenAPI{Version: "3.0.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: "none", Version: "none"}}, Paths: &spec3.Paths{}}
})

// mediaOf is the media type of the form that a request asks for, empty where there is none.
func mediaOf(r *http.Request) string {
	var told answer
	formless.HandleGroupVersion(&told, &http.Request{Method: http.MethodHead, URL: &url.URL{Path: Root + "/none"}, Header: http.Header{"Accept": r.Header["Accept"]}})
	return told.Header().Get("Content-Type")
}
