package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	serverfilters "k8s.io/apiserver/pkg/server/filters"

	"flotilla/bus/gate"
	"flotilla/bus/loop"
	"flotilla/hub/front/bounds"
	"flotilla/hub/front/forms"
	"flotilla/hub/front/shapes"
	"flotilla/hub/front/shelf"
	"flotilla/hub/front/turns"
)

const (
	// requestTimeout is for how long a request may take that is no watch.
	requestTimeout = time.Minute
	// leastWatch is for how long a watch lasts at least whose client does not say.
	leastWatch = 30 * time.Minute
	// takenWithin is for how long a piece of an answer waits for who asked.
	takenWithin = 10 * time.Second
)

// Options of New.
type Options struct {
	Door    Door
	Version string
	Now     func() time.Time
	Log     zerolog.Logger
	Bounds  shelf.Bounds // none: shelf.Usual
}

// Front serves the Kubernetes API.
type Front struct {
	Options
	http.Handler
	people      *people
	codec       codec
	builtIn     []*kind
	definitions *kind // of definitions

	life context.Context //nolint:containedctx // ends with the front: watches and what is followed
	end  context.CancelFunc
	all  loop.Works

	turns  *turns.All
	shapes *shapes.Maker

	now     atomic.Pointer[served]
	serving serving // in the place of now
	shelves *shelf.All
}

// served is what is served at a time.
type served struct {
	*kinds
	ways   map[*kind]*way
	info   *discoverable
	number uint64 // of the definitions that it was made of
	// outcomes are what became of definitions, by name.
	outcomes map[string]outcome
	shapes   shapes.All
}

// way is how requests for one kind are answered.
type way struct {
	storage *storage
	scope   *handlers.RequestScope
	scale   *handlers.RequestScope // nil where nothing is scaled
}

// New returns what answers requests to the Kubernetes API. Close ends it.
func New(o Options) (*Front, error) {
	o.Bounds = cmp.Or(o.Bounds, shelf.Usual)
	f := &Front{Options: o, people: newPeople(o.Door, o.Now), codec: newCodec(), builtIn: builtInKinds(), turns: turns.NewAll(), shelves: shelf.New(o.Door, o.Now, o.Bounds)}
	f.shapes = &shapes.Maker{Go: f.all.Go, Turns: f.turns.Reading, Refuse: f.busy}
	f.life, f.end = context.WithCancel(context.Background())
	first, err := f.made(f.builtIn, nil, &served{kinds: newKinds(nil)}, 0)
	if err != nil {
		return nil, err
	}
	f.definitions = first.byResource[definitionKind.GroupVersion().WithResource("customresourcedefinitions")]
	f.now.Store(first)
	f.Handler = f.filtered(http.HandlerFunc(f.serve))
	return f, nil
}

// made is what serves some kinds. The ways of kinds that were served before, and their shapes, are as they were.
func (f *Front) made(all []*kind, ways map[*kind]*way, before *served, number uint64) (*served, error) {
	s := &served{kinds: newKinds(all), ways: map[*kind]*way{}, number: number}
	for _, k := range all {
		if s.ways[k] = ways[k]; s.ways[k] != nil {
			continue
		}
		var err error
		if s.ways[k], err = f.way(k); err != nil {
			return nil, err
		}
	}
	s.info = newDiscovery(s.kinds)
	s.info.openapi = f.openapi(s, before)
	return s, nil
}

// tried is the way of a kind, or why it cannot be served.
func (f *Front) tried(k *kind) (made *way, err error) {
	defer recovered(&err)
	return f.way(k)
}

func (f *Front) way(k *kind) (*way, error) {
	table := tables{k, f.Now}
	scope, err := f.newScope(k, table)
	if err != nil {
		return nil, err
	}
	made := &way{storage: &storage{TableConvertor: table, front: f, kind: k}, scope: scope}
	if k.scales() {
		made.scale, err = scaleScope(scope)
	}
	return made, err
}

// Close ends watches and what is followed.
func (f *Front) Close() {
	f.end()
	f.shelves.Close()
	f.all.End()
}

// filtered has requests pass who asks, what for, and whether they may.
func (f *Front) filtered(next http.Handler) http.Handler {
	resolver := &genericrequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	long := func(_ *http.Request, info *genericrequest.RequestInfo) bool { return info.Verb == "watch" }
	next = filters.WithAuthorization(next, f, metaCodecs)
	next = f.bounded(next, long)
	next = filters.WithAuthentication(next, bearertoken.New(f.people), http.HandlerFunc(f.turnedAway), nil, nil)
	timed := func(work http.Handler) http.Handler {
		return serverfilters.WithTimeoutForNonLongRunningRequests(work, long)
	}
	next = bounds.Arriving{Turns: f.turns.Arriving, Beside: timed, Refuse: f.busy}.Count(next)
	next = bounds.Taken(next, takenWithin) // whoever writes after the timeout writes no more to it
	next = filters.WithRequestDeadline(next, nil, nil, long, metaCodecs, requestTimeout)
	next = filters.WithWarningRecorder(next)
	next = filters.WithCacheControl(next)
	next = filters.WithRequestInfo(next, resolver)
	next = filters.WithRequestReceivedTimestamp(next)
	next = filters.WithAuditInit(next)
	next = serverfilters.WithPanicRecovery(next, resolver)
	return f.noted(next)
}

// bounded works on so many requests and watches at once, of one person and of all: some send slowly, or take slowly what they are sent.
func (f *Front) bounded(next http.Handler, long genericrequest.LongRunningRequestCheck) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, _ := genericrequest.RequestInfoFrom(r.Context())
		who, known := genericrequest.UserFrom(r.Context())
		if err := bounds.Selectors(r.URL.Query()); err != nil {
			f.refuse(w, r, apierrors.NewBadRequest(err.Error()))
			return
		}
		if info == nil || !known {
			next.ServeHTTP(w, r)
			return
		}
		gate.Belongs(r.Context(), who.GetName())
		of := f.turns.Reading
		switch {
		case long(r, info):
			of = f.turns.Watching
		case info.IsResourceRequest && !reading[info.Verb]:
			of = f.turns.Writing
		}
		turn, err := of.Enter(who.GetName())
		if err != nil {
			f.busy(w, r, err)
			return
		}
		defer turn.Leave()
		bounds.Known(r.Context())
		if of == f.turns.Watching {
			w, r = bounds.Flushing(w, r)
		}
		next.ServeHTTP(w, r.WithContext(turns.With(r.Context(), turn)))
	})
}

// noted keeps token and address of a request, and ends it with the front.
func (f *Front) noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(f.life, cancel)()
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		ctx = context.WithValue(ctx, addressKey{}, host)
		ctx = context.WithValue(ctx, tokenKey{}, bearer(r))
		ctx = context.WithValue(ctx, troubleKey{}, new(trouble))
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate-") {
				f.refuse(w, r, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("nobody asks as another: ask with a token of theirs")))
				return
			}
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// refuse answers with an error.
func (f *Front) refuse(w http.ResponseWriter, r *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, metaCodecs, metaVersion, w, r)
}

// busy refuses a request that may be asked again soon.
func (f *Front) busy(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Retry-After", strconv.Itoa(turns.RetryAfter))
	f.refuse(w, r, err)
}

// turnedAway answers whoever was not let in: because of their token, or because nobody can say whose it is.
func (f *Front) turnedAway(w http.ResponseWriter, r *http.Request) {
	if met, _ := r.Context().Value(troubleKey{}).(*trouble); met != nil && met.err != nil {
		f.busy(w, r, apierrors.NewServiceUnavailable("whose the token is cannot be said now: "+met.err.Error()))
		return
	}
	filters.Unauthorized(metaCodecs).ServeHTTP(w, r)
}

// shelf is the one of a kind: values of Secrets, wherever they lie, are in it where whoever asks sees them. That of definitions stays: what
// is served is made of its numbers.
func (f *Front) shelf(k *kind, values bool) *shelf.Shelf {
	return f.shelves.Of(shelf.Kind{
		GroupVersionKind: k.GroupVersionKind, Resource: k.resource, Ours: k.ours, Values: values, Stays: k == f.definitions && values, Served: k,
	})
}

// drop ends the shelves of kinds that are served no more.
func (f *Front) drop(now *served) {
	f.shelves.Drop(func(s *shelf.Shelf) bool { return now.ways[s.Kind().Served.(*kind)] == nil })
}

// serve answers a request that was let in.
func (f *Front) serve(w http.ResponseWriter, r *http.Request) {
	info, _ := genericrequest.RequestInfoFrom(r.Context())
	if info == nil || !info.IsResourceRequest {
		f.plain(w, r)
		return
	}
	if info.Verb == "create" && isReview(info.APIGroup, info.Resource) {
		asked, err := bounds.Sized(r, mostReview, schema.GroupVersionKind{}, true) // it names its kind
		if err != nil {
			f.refuse(w, r, err)
			return
		}
		f.review(w, asked, info)
		return
	}
	now := f.now.Load()
	k := now.of(info)
	if k == nil || k.definition != nil { // it may be defined by now, or no more
		now = f.current(r.Context())
		k = now.of(info)
	}
	if k == nil {
		f.missing(w, r, info)
		return
	}
	sent, err := r, error(nil)
	if !reading[info.Verb] {
		sent, err = bounds.Sized(r, bounds.MostBody, k.GroupVersionKind, info.Verb == "create" || info.Verb == "update" || info.Verb == "patch") // others send options alone
	}
	switch {
	case err != nil:
		f.refuse(w, r, err)
	case info.Subresource == "":
		by := now.ways[k]
		f.answer(by, info)(w, forms.Asked(sent, by.scope.Serializer, by.scope, laidOut[info.Verb]))
	case info.Subresource == "scale" && k.scales():
		by := now.ways[k]
		f.scale(by, info)(w, forms.Asked(sent, by.scale.Serializer, by.scale, laidOut[info.Verb]))
	default:
		f.missing(w, r, info)
	}
}

// laidOut are the verbs that are answered while nothing else goes on for the request: their answers may be in lines.
var laidOut = map[string]bool{"get": true, "list": true}

// answer is the handler of Kubernetes for a verb.
func (f *Front) answer(by *way, info *genericrequest.RequestInfo) http.HandlerFunc {
	s, scope := by.storage, by.scope
	switch info.Verb {
	case "get":
		return handlers.GetResource(s, scope)
	case "list", "watch":
		return handlers.ListResource(s, s, scope, info.Verb == "watch", leastWatch)
	case "create":
		return handlers.CreateResource(s, scope, nil)
	case "update":
		return handlers.UpdateResource(s, scope, nil)
	case "patch":
		return handlers.PatchResource(s, scope, nil, s.kind.patches())
	case "delete":
		return handlers.DeleteResource(s, true, scope, nil)
	case "deletecollection":
		return handlers.DeleteCollection(s, true, scope, nil)
	}
	return func(w http.ResponseWriter, r *http.Request) { f.missing(w, r, info) }
}

// scale is the handler of Kubernetes for a verb on the scale of an object.
func (f *Front) scale(by *way, info *genericrequest.RequestInfo) http.HandlerFunc {
	s, scope := scales{by.storage}, by.scale
	switch info.Verb {
	case "get":
		return handlers.GetResource(s, scope)
	case "update":
		return handlers.UpdateResource(s, scope, nil)
	case "patch":
		return handlers.PatchResource(s, scope, nil, []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType)})
	}
	return func(w http.ResponseWriter, r *http.Request) { f.missing(w, r, info) }
}

// plain answers what asks for no object.
func (f *Front) plain(w http.ResponseWriter, r *http.Request) {
	switch path := strings.TrimSuffix(r.URL.Path, "/"); path {
	case "/healthz", "/livez", "/readyz":
		_, _ = fmt.Fprint(w, "ok")
	case "/version":
		f.version(w)
	default:
		f.current(r.Context()).info.serve(w, r, path)
	}
}
