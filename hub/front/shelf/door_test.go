package shelf

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

var configMap = Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Resource: "configmaps", Values: true}

// plainDoor answers from objects in memory, and counts what it is asked.
type plainDoor struct {
	old   bool                              // it knows no marks
	halts chan struct{}                     // where there is one, each list takes one from it
	marks func(key string, o object) string // another way to make marks
	end   context.Context                   //nolint:containedctx // ends all waits
	wakes chan struct{}                     // each answers a wait

	mu            sync.Mutex
	objects       map[string]object
	revision      int
	changes       int
	asked         map[string]int // "list", "marks", "get": how many objects were sent
	lists         int
	waiting, most int
	spaces        map[string]string // the namespace in which alone there are objects of a kind
	largest       int               // so many objects fit into an answer; 0: all
}

type object struct {
	uid, version, text string
	revision           int
}

func newDoor(t *testing.T) *plainDoor {
	t.Helper()
	return &plainDoor{end: t.Context(), wakes: make(chan struct{}), objects: map[string]object{}, asked: map[string]int{}, revision: 1}
}

// shelves are those before the door, by a clock that is put on by so much.
func (d *plainDoor) shelves(t *testing.T, on *atomic.Int64) *All {
	t.Helper()
	a := New(d, func() time.Time { return elsewhen.Now().Add(time.Duration(on.Load())) }, Usual)
	t.Cleanup(a.Close)
	return a
}

// put stores a text of an object, at another revision unless members alone said something else.
func (d *plainDoor) put(key, uid, text string, echo bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := object{uid: uid, version: "v1", text: text, revision: d.objects[key].revision}
	if d.changes++; !echo {
		d.revision++
		o.revision = d.revision
	}
	d.objects[key] = o
}

func (d *plainDoor) drop(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.objects, key)
	d.changes++
	d.revision++
}

// count is how many objects were sent in answers of a kind since the last count.
func (d *plainDoor) count(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.asked[what]
	d.asked[what] = 0
	return n
}

func (o *object) raw(kind Kind, key string) json.RawMessage {
	namespace, name := split(key)
	return json.RawMessage(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":"1.%d"},"data":{"text":%q}}`,
		o.version, kind.Kind, namespace, name, o.uid, o.revision, o.text))
}

func (d *plainDoor) Ask(ctx context.Context, _ api.Caller, verb string, question, answer any) error {
	switch request := question.(type) {
	case *api.WatchRequest:
		return d.watch(ctx, request, answer.(*api.WatchResponse))
	case *api.GetRequest:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked[verb]++
		key := request.Namespace + "/" + request.Name
		o, found := d.objects[key]
		if !found {
			return &api.Failure{Code: api.CodeNotFound, Message: "there is none"}
		}
		answer.(*api.GetResponse).Object = o.raw(configMap, key)
		return nil
	case *api.ListRequest:
		if d.halts != nil {
			<-d.halts
		}
		d.list(request, answer.(*api.ListResponse))
		return nil
	}
	return fmt.Errorf("found verb %s", verb)
}

func (d *plainDoor) list(request *api.ListRequest, answer *api.ListResponse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists++
	if d.old {
		request = &api.ListRequest{APIVersion: request.APIVersion, Kind: request.Kind, Limit: request.Limit, Continue: request.Continue, Namespace: request.Namespace}
	}
	answer.ResourceVersion = "1." + strconv.Itoa(d.revision)
	var keys []string
	for key := range d.objects {
		namespace, name := split(key)
		if lies := d.spaces[request.Kind]; lies != "" && namespace != lies || request.Namespace != "" && namespace != request.Namespace || key <= request.Continue ||
			len(request.Only) > 0 && !slices.Contains(request.Only, api.ListKey{Namespace: namespace, Name: name}) {
			continue
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	for i, key := range keys {
		if request.Limit > 0 && i == request.Limit || d.largest > 0 && i == d.largest {
			answer.Continue = keys[i-1]
			return
		}
		o := d.objects[key]
		if !d.old {
			mark := fmt.Sprint(o)
			if d.marks != nil {
				mark = d.marks(key, o)
			}
			answer.Marks = append(answer.Marks, mark)
		}
		if request.Marks {
			namespace, name := split(key)
			answer.Keys = append(answer.Keys, api.ListKey{Namespace: namespace, Name: name})
			d.asked["marks"]++
			continue
		}
		answer.Items, answer.Specs = append(answer.Items, o.raw(Kind{GroupVersionKind: configMap.GroupVersion().WithKind(request.Kind)}, key)), append(answer.Specs, "1.1")
		d.asked["list"]++
	}
}

func (d *plainDoor) watch(ctx context.Context, request *api.WatchRequest, answer *api.WatchResponse) error {
	d.mu.Lock()
	answer.Mark = strconv.Itoa(d.changes)
	answer.Changed = request.After != answer.Mark
	d.mu.Unlock()
	if answer.Changed || request.Wait.Duration < time.Millisecond {
		return nil
	}
	d.add(1)
	defer d.add(-1)
	select {
	case <-ctx.Done():
	case <-d.end.Done():
	case <-d.wakes:
	}
	return nil
}

func (d *plainDoor) add(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting += n
	d.most = max(d.most, d.waiting)
}

// waits says how many wait, or that it is another number.
func (d *plainDoor) waits(want int) func() error {
	return func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.waiting != want {
			return fmt.Errorf("%d wait", d.waiting)
		}
		return nil
	}
}

// since are the changes after a number, the number of the newest list, and what is closed at the next change; false where they are not kept any
// more.
func (s *Shelf) since(after uint64) (changes []Change, number uint64, next <-chan struct{}, kept bool) {
	for at := (Place{Number: after, All: true}); ; {
		one, is, next, kept := s.Next(&at, func(*Item) bool { return true })
		if !is {
			return changes, at.Number, next, kept
		}
		changes = append(changes, one)
		at.Passed(&one)
	}
}

// told are changes in short.
func told(changes []Change) string {
	var all []string
	for i := range changes {
		c := &changes[i]
		text, _, _ := unstructured.NestedString(c.Now.Whole().Object.Object, "data", "text")
		all = append(all, fmt.Sprintf("%s %s %s", c.Kind, c.Now.Key, text))
	}
	return strings.Join(all, ", ")
}
