package shelf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

const (
	// pageSize is how many objects one question to the door is about.
	pageSize = 500
	// keptTries is how often a shelf is read anew that others drove out meanwhile.
	keptTries = 3
	// askFor is for how long the door is asked for a page.
	askFor = 30 * time.Second
)

// ErrWide says that the objects of a kind are too large to be kept: Page lists them.
var ErrWide = errors.New("the objects of the kind are too large together to be kept")

// reads are who reads from the door, and who waits for that. One reads at a time, for all who wait.
type reads struct {
	next    *flight // what has not begun
	reading bool
	// known are the marks of all objects, also of those in versions that are not served. They are of who reads.
	known map[string]string
}

// flight is one read.
type flight struct {
	done chan struct{}
	err  error
}

// fresh has the shelf hold what the door held when it was called, or later. It waits until ctx ends, for a read that others wait for too.
func (s *Shelf) fresh(ctx context.Context) error {
	if s.isWide() {
		return ErrWide
	}
	var err error
	read := s.join()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.life.Done():
	case <-read.done:
		err = read.err
	}
	if s.life.Err() != nil {
		return &api.Failure{Code: api.CodeUnavailable, Message: "the kind is not served any more, or was defined anew: ask again"}
	}
	return err
}

// Kept is fresh and List together.
func (s *Shelf) Kept(ctx context.Context, namespace string) (found []*Item, number uint64, err error) {
	for range keptTries {
		if err := s.fresh(ctx); err != nil {
			return nil, 0, err
		}
		if found, number, kept := s.List(namespace); kept {
			return found, number, nil
		}
	}
	return nil, 0, ErrWide
}

// join is the next read that begins.
func (s *Shelf) join() *flight {
	s.mu.Lock()
	if s.reads.next == nil {
		s.reads.next = &flight{done: make(chan struct{})}
	}
	next, begin := s.reads.next, !s.reads.reading
	s.reads.reading = true
	s.mu.Unlock()
	if begin {
		s.all.work.Go(s.readOn)
	}
	return next
}

// readOn reads while somebody waits for it.
func (s *Shelf) readOn() {
	for {
		s.mu.Lock()
		now := s.reads.next
		s.reads.next, s.reads.reading = nil, now != nil
		s.mu.Unlock()
		if now == nil {
			return
		}
		now.err = s.read(s.life)
		close(now.done)
	}
}

// read reads what changed since the shelf was read last.
func (s *Shelf) read(ctx context.Context) error {
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
	s.mu.Lock()
	if s.mark == "" { // it may have been emptied meanwhile
		s.reads.known = map[string]string{}
	}
	l := &listing{shelf: s, before: s.content.items, round: s.content.round, at: map[string]int{}, lean: s.lean}
	s.mu.Unlock()
	weight := s.weight()
	l.weight, l.ring = weight.items, weight.ring
	if err = l.all(ctx); err == nil {
		err = s.take(l, answer.Mark)
	}
	if !s.all.hold(s, s.weight()) {
		return ErrWide
	}
	return err
}

// weight is how much memory the objects take, and the changes.
func (s *Shelf) weight() (h held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.content.items {
		h.items += one.takes()
	}
	h.ring = s.ring.takes()
	return h
}

// reader is who asks for a kind, of whom the door keeps count.
func (s *Shelf) reader() api.Caller {
	by := api.Caller{Name: "kubernetes/" + s.kind.GroupVersion().String() + "/" + s.kind.Resource, Role: api.RoleViewer}
	if s.kind.Values {
		by.Role = api.RoleAdmin
	}
	return by
}

func (s *Shelf) await(ctx context.Context, mark string, wait time.Duration) (answer api.WatchResponse, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait+askFor)
	defer cancel()
	err = s.all.door.Ask(ctx, s.reader(), api.VerbWatch, &api.WatchRequest{
		Kinds: []api.WatchedKind{{APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind}}, After: mark, Wait: metav1.Duration{Duration: wait},
	}, &answer)
	return answer, err
}

// question asks for objects of the kind.
func (s *Shelf) question() *api.ListRequest {
	return &api.ListRequest{APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind, ShowSecrets: s.kind.Values, Managed: true, Limit: pageSize}
}

// listed is an object of a listing.
type listed struct {
	key  string
	mark string
	read bool  // and not known by its mark
	item *Item // of what was read; nil where it lies in the hub in a version that is not served
	lost bool  // it was gone when it was to be read
}

// listing is what is read of a shelf.
type listing struct {
	shelf   *Shelf
	before  map[string]*Item // what the shelf holds
	round   int              // of that
	version string
	found   []listed
	at      map[string]int // where in found an object is
	lean    bool           // it keeps the texts of objects
	weight  int64          // of all objects, and of the changes of the shelf
	ring    int64
}

// all reads the marks of all objects, and those objects whose mark is another than the one that the shelf knows; all objects where it knows none.
func (l *listing) all(ctx context.Context) error {
	request := l.shelf.question()
	if len(l.shelf.reads.known) == 0 {
		return l.pages(ctx, request)
	}
	request.Marks, request.Limit = true, 0 // as many as an answer has
	if err := l.pages(ctx, request); err != nil {
		return err
	}
	var stale []api.ListKey
	for i := range l.found {
		one := &l.found[i]
		if one.read || one.mark != "" && l.shelf.reads.known[one.key] == one.mark {
			continue // it came instead of its mark, or is as it was
		}
		one.lost = true // until it is read
		namespace, name := split(one.key)
		stale = append(stale, api.ListKey{Namespace: namespace, Name: name})
	}
	for part := range slices.Chunk(stale, pageSize) {
		request := l.shelf.question()
		request.Only = part
		if err := l.pages(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

// list asks the door for a page.
func (s *Shelf) list(ctx context.Context, request *api.ListRequest) (*api.ListResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	page := &api.ListResponse{}
	if err := s.all.door.Ask(ctx, s.reader(), api.VerbList, request, page); err != nil {
		return nil, err
	}
	if len(page.Specs) != len(page.Items) {
		return nil, fmt.Errorf("the door named the specs of %d objects, listed %d", len(page.Specs), len(page.Items))
	}
	if n := len(page.Marks); n > 0 && n != len(page.Items)+len(page.Keys) {
		return nil, fmt.Errorf("the door sent %d marks for %d objects", n, len(page.Items)+len(page.Keys))
	}
	return page, nil
}

// pages reads all pages of an answer.
func (l *listing) pages(ctx context.Context, request *api.ListRequest) error {
	for {
		page, err := l.shelf.list(ctx, request)
		if err != nil {
			return err
		}
		if l.version == "" {
			l.version = page.ResourceVersion // what later pages hold beyond it comes with the next change
		}
		if err := l.take(page); err != nil {
			return err
		}
		if page.Continue == "" {
			return nil
		}
		request.Continue = page.Continue
	}
}

// take takes in a page of marks or of objects. A hub of an older release sends objects where marks were asked for, and none with them.
func (l *listing) take(page *api.ListResponse) error {
	for i, key := range page.Keys {
		l.put(listed{key: keyOf(key.Namespace, key.Name), mark: page.Marks[i]})
	}
	var read []int
	for i, raw := range page.Items {
		key, made, err := l.shelf.kind.itemOf(raw, page.Specs[i])
		if err != nil {
			return err
		}
		if was := l.before[key]; made != nil && was != nil {
			if l.weight -= was.takes(); was.digest == made.digest {
				made = was
			}
		}
		one := listed{key: key, read: true, item: made}
		if len(page.Marks) > 0 {
			one.mark = page.Marks[i]
		}
		if read = append(read, l.put(one)); made != nil {
			l.weight += l.takes(made)
		}
	}
	if err := l.hold(); err != nil || l.lean {
		return err
	}
	for _, at := range read { // now that there is room
		if one := &l.found[at]; one.item != nil {
			one.item = one.item.Whole()
		}
	}
	return nil
}

// takes is how much memory an item takes as it is kept.
func (l *listing) takes(i *Item) int64 {
	if l.lean || i.Object != nil {
		return i.takes()
	}
	return i.labelBytes() + i.weight
}

// hold has the shelf hold what was read so far. It may have to become lean for that.
func (l *listing) hold() error {
	for {
		if !l.lean && l.shelf.isLean() {
			l.slim()
		}
		if !l.shelf.all.hold(l.shelf, held{items: l.weight, ring: l.ring}) {
			return ErrWide
		}
		if l.lean || !l.shelf.isLean() {
			return nil // where the shelf keeps objects again meanwhile, texts are among them
		}
	}
}

// slim has the listing keep the texts of its objects alone.
func (l *listing) slim() {
	l.lean = true
	l.shelf.mu.Lock()
	l.before = l.shelf.content.items
	l.shelf.mu.Unlock()
	l.weight = l.shelf.weight().items
	for i := range l.found {
		one := &l.found[i]
		if one.item == nil {
			continue
		}
		one.item = one.item.lean()
		if was := l.before[one.key]; was != nil {
			l.weight -= was.takes()
		}
		l.weight += one.item.takes()
	}
}

// put notes an object, and returns where.
func (l *listing) put(one listed) (at int) {
	at, known := l.at[one.key]
	if !known {
		l.at[one.key] = len(l.found)
		l.found = append(l.found, one)
		return len(l.found) - 1
	}
	l.found[at] = one
	return at
}
