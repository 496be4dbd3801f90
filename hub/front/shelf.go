package front

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"flotilla/core/api"
)

const (
	// ringLength is how many changes of a kind are kept for who resumes, and ringBytes how long what the door said of them may be together.
	ringLength, ringBytes = 4096, 16 << 20
	// pollEvery is for how long one wait for a change lasts.
	pollEvery = 20 * time.Second
	// retryEvery is how long after the door answered nothing it is asked again.
	retryEvery = time.Second
	// keptFor is for how long a shelf is kept that nobody looks at.
	keptFor = 10 * time.Minute
	// pageSize is how many objects one question to the door is about.
	pageSize = 500
)

// item is one object as it is shown, and must not be changed.
type item struct {
	object *unstructured.Unstructured
	number uint64 // its resourceVersion
	spec   string // the version of its spec record
	raw    string // what the door said
}

// change is one event of the ring.
type change struct {
	kind   watch.EventType
	number uint64
	now    *unstructured.Unstructured // as it is or, deleted, was last
	before *unstructured.Unstructured // nil where there was none
	size   int                        // of what the door said
}

// shelf holds the objects of one kind as they were when the door was asked last, and the changes that led there.
type shelf struct {
	kind *kind
	door Door
	// values says that values of Secrets are shown.
	values bool
	life   context.Context //nolint:containedctx // ends when the kind is served no more
	end    context.CancelFunc

	refreshing sync.Mutex // held while the door is asked

	mu      sync.Mutex
	mark    string // where the door's next wait begins
	items   map[string]*item
	byText  map[string]*item // by what the door said
	number  uint64           // of the newest list
	ring    []change
	oldest  uint64 // changes up to it are not in the ring
	changed chan struct{}
	looks   looks
}

// looks are who looks at a shelf.
type looks struct {
	watching  int       // so many watch
	following bool      // the door is asked for changes
	last      time.Time // when somebody looked last, or ended a watch
}

func newShelf(life context.Context, k *kind, door Door, values bool) *shelf {
	s := &shelf{kind: k, door: door, values: values, items: map[string]*item{}, changed: make(chan struct{})}
	s.life, s.end = context.WithCancel(life)
	return s
}

// reader is who asks for a kind, of whom the door keeps count.
func (s *shelf) reader() api.Caller {
	by := api.Caller{Name: "kubernetes/" + s.kind.GroupVersion().String() + "/" + s.kind.resource, Role: api.RoleViewer}
	if s.values {
		by.Role = api.RoleAdmin
	}
	return by
}

// fresh has the shelf hold what the door holds now.
func (s *shelf) fresh(ctx context.Context) error {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	s.mu.Lock()
	mark := s.mark
	s.mu.Unlock()
	answer, err := s.await(ctx, mark, time.Nanosecond)
	if err != nil {
		return err
	}
	if mark != "" && !answer.Changed {
		return nil
	}
	return s.read(ctx, answer.Mark)
}

// follow keeps the shelf fresh while somebody watches it.
func (s *shelf) follow() {
	for ctx := s.life; ; {
		mark, on := s.followed()
		if !on {
			return
		}
		answer, err := s.await(ctx, mark, pollEvery)
		if err != nil {
			pause(ctx, retryEvery)
		}
		if err != nil || answer.Changed { // who is refused a wait looks now and then
			err = s.fresh(ctx)
		}
		if err != nil {
			pause(ctx, retryEvery)
		}
	}
}

// followed says whether somebody watches still, and where the next wait begins.
func (s *shelf) followed() (mark string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks.following = s.looks.watching > 0 && s.life.Err() == nil
	return s.mark, s.looks.following
}

// begin counts one who watches, and says whether the shelf is to be followed from now on.
func (s *shelf) begin() (follow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	follow = !s.looks.following
	s.looks.watching++
	s.looks.following = true
	return follow
}

// looked says that somebody looks now, and of how many who watched that they have ended.
func (s *shelf) looked(now time.Time, ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks.watching -= ended
	s.looks.last = now
}

// idle says that nobody watches, and that nobody has looked since a time.
func (s *shelf) idle(since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks.watching == 0 && s.looks.last.Before(since)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (s *shelf) await(ctx context.Context, mark string, wait time.Duration) (answer api.WatchResponse, err error) {
	err = s.door.Ask(ctx, s.reader(), api.VerbWatch, &api.WatchRequest{
		Kinds: []api.WatchedKind{{APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind}}, After: mark, Wait: metav1.Duration{Duration: wait},
	}, &answer)
	return answer, err
}

// read asks for all objects, and takes in what changed.
func (s *shelf) read(ctx context.Context, mark string) error {
	var found []json.RawMessage
	var specs []string
	request := &api.ListRequest{APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind, ShowSecrets: s.values, Managed: true, Limit: pageSize}
	version := ""
	for {
		var page api.ListResponse
		if err := s.door.Ask(ctx, s.reader(), api.VerbList, request, &page); err != nil {
			return err
		}
		if version == "" {
			version = page.ResourceVersion // what later pages hold beyond it comes with the next change
		}
		if len(page.Specs) != len(page.Items) {
			return fmt.Errorf("the door named the specs of %d objects, listed %d", len(page.Specs), len(page.Items))
		}
		found, specs = append(found, page.Items...), append(specs, page.Specs...)
		if page.Continue == "" {
			break
		}
		request.Continue = page.Continue
	}
	number, err := numbered(version)
	if err != nil {
		return err
	}
	return s.take(found, specs, number, mark)
}

// take takes in all objects as they are now.
func (s *shelf) take(found []json.RawMessage, specs []string, number uint64, mark string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.mark == ""
	left, texts := make(map[string]*item, len(found)), make(map[string]*item, len(found))
	var changes []change
	// What changed comes behind the list before, also where no record says so: members may have said something else.
	behind := max(number, s.number+1)
	newest := max(number, s.number)
	for i, raw := range found {
		if same := s.byText[string(raw)]; same != nil {
			left[keyOf(same.object)], texts[same.raw] = same, same
			continue
		}
		now, err := s.itemOf(raw, specs[i])
		switch {
		case err != nil:
			return err
		case now == nil:
			continue
		}
		key := keyOf(now.object)
		was := s.items[key]
		least, anew := s.number+1, was != nil && was.object.GetUID() != now.object.GetUID()
		if anew {
			least++ // the end of the one before has a number too
		}
		if !first && now.number < least {
			now.number = behind + least - s.number - 1
			behind = now.number + 1
		}
		now.object.SetResourceVersion(printed(now.number))
		newest = max(newest, now.number)
		left[key], texts[now.raw] = now, now
		one := change{kind: watch.Added, number: now.number, now: now.object, size: len(now.raw)}
		switch {
		case anew:
			changes = append(changes, gone(was, now.number-1))
		case was != nil:
			one.kind, one.before = watch.Modified, was.object
		}
		changes = append(changes, one)
	}
	for key, was := range s.items {
		if left[key] == nil {
			changes = append(changes, gone(was, behind))
			newest = max(newest, behind)
			behind++ // so that who is cut off between two is told of the second
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.number, b.number) })
	s.items, s.byText, s.number, s.mark = left, texts, newest, mark
	if first {
		s.oldest = newest
		return nil
	}
	s.keep(changes)
	return nil
}

// gone is that an object was deleted, by the time of a list.
func gone(was *item, number uint64) change {
	last := was.object.DeepCopy()
	last.SetResourceVersion(printed(number))
	return change{kind: watch.Deleted, number: number, now: last, before: was.object, size: len(was.raw)}
}

// keep adds changes to the ring, and wakes who watches.
func (s *shelf) keep(changes []change) {
	if len(changes) == 0 {
		return
	}
	s.ring = append(s.ring, changes...)
	if over := beyond(s.ring); over > 0 {
		s.oldest = s.ring[over-1].number
		s.ring = slices.Clone(s.ring[over:])
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// beyond is how many of the oldest changes are not kept.
func beyond(ring []change) (over int) {
	size := 0
	for over = len(ring); over > 0 && len(ring)-over < ringLength; over-- {
		if size += ring[over-1].size; size > ringBytes {
			return over
		}
	}
	return over
}

// itemOf is an object as the door shows it; nil where it lies in the hub in a version that is not served, whose fields may be others.
func (s *shelf) itemOf(raw json.RawMessage, spec string) (*item, error) {
	u := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(raw, &u.Object); err != nil {
		return nil, fmt.Errorf("reading an object of the door: %w", err)
	}
	if !s.kind.ours && u.GroupVersionKind() != s.kind.GroupVersionKind {
		return nil, nil
	}
	u.SetGroupVersionKind(s.kind.GroupVersionKind)
	if !s.values { // it holds what was applied, as it was
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	}
	made := &item{object: u, raw: string(raw), spec: spec}
	var err error
	made.number, err = numbered(u.GetResourceVersion())
	return made, err
}

func keyOf(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetName() }

// get is one object, nil where there is none.
func (s *shelf) get(namespace, name string) *item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[namespace+"/"+name]
}

// list are the objects in a namespace, of all where that is empty, sorted by key, and the number of the list.
func (s *shelf) list(namespace string) (found []*item, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.items {
		if namespace == "" || one.object.GetNamespace() == namespace {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b *item) int { return strings.Compare(keyOf(a.object), keyOf(b.object)) })
	return found, s.number
}

// gave says that the shelf gave a number that no record has: another hub numbers what members say by itself.
func (s *shelf) gave(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number&(1<<echoBits-1) == 0 || number == s.number {
		return true
	}
	_, found := slices.BinarySearchFunc(s.ring, number, func(c change, number uint64) int { return cmp.Compare(c.number, number) })
	return found
}

// since are the changes after a number, the number of the newest list, and what is closed at the next change; false where they are
// not kept any more.
func (s *shelf) since(after uint64) (changes []change, number uint64, next <-chan struct{}, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after < s.oldest {
		return nil, s.number, s.changed, false
	}
	at, _ := slices.BinarySearchFunc(s.ring, after+1, func(c change, number uint64) int { return cmp.Compare(c.number, number) })
	return s.ring[at:], s.number, s.changed, true
}
