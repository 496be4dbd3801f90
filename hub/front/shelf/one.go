package shelf

import (
	"context"
	"crypto/sha256"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// One is an object as the door holds it when it is called, or later; nil where there is none. It costs as much as that object: the others are
// read for it only where no record says that it changed.
func (s *Shelf) One(ctx context.Context, namespace, name string) (*Item, error) {
	s.mu.Lock()
	mark := s.mark
	s.mu.Unlock()
	if mark != "" {
		answer, err := s.await(ctx, mark, 1)
		if err != nil {
			return nil, err
		}
		if found, kept := s.get(namespace, name); kept && !answer.Changed {
			return found, nil
		}
	}
	now, err := s.ask(ctx, namespace, name)
	if err != nil || now == nil {
		return nil, err
	}
	if same, numbered := s.numbered(now); numbered {
		return same, nil
	}
	switch err := s.fresh(ctx); {
	case errors.Is(err, ErrWide):
		return now, nil
	case err != nil:
		return nil, err
	}
	if found, kept := s.get(namespace, name); kept {
		return found, nil
	}
	return now, nil
}

// get is one object as it was read last, nil where there is none; false where objects are not kept any more.
func (s *Shelf) get(namespace, name string) (found *Item, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content.items[keyOf(namespace, name)], s.mark != ""
}

// ask is one object as the door says it, nil where there is none.
func (s *Shelf) ask(ctx context.Context, namespace, name string) (*Item, error) {
	var answer api.GetResponse
	err := s.all.door.Ask(ctx, s.reader(), api.VerbGet, &api.GetRequest{
		APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind, Namespace: namespace, Name: name, ShowSecrets: s.kind.Values, Managed: true,
	}, &answer)
	if failure, is := errors.AsType[*api.Failure](err); is && failure.Code == api.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, now, err := s.kind.itemOf(answer.Object, answer.Spec)
	return now, err
}

// given is what One gave of an object before lists had it.
type given struct {
	number uint64
	digest [sha256.Size]byte
}

// mostGiven is of how many objects a shelf remembers what One gave.
const mostGiven = 4096

// numbered is an object with the number that lists give it; false where that is not known before all objects were read: it was shown
// otherwise before, though no record has changed since.
func (s *Shelf) numbered(now *Item) (*Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.content.items[now.Key]; was != nil && was.digest == now.digest {
		return was, true
	}
	if other, is := s.given[now.Key]; is && other.number == now.Number && other.digest != now.digest || s.mark != "" && now.Number <= s.number {
		return nil, false
	}
	if len(s.given) >= mostGiven || s.given == nil {
		s.given = map[string]given{}
	}
	s.given[now.Key] = given{now.Number, now.digest}
	return now, true
}

// Page are objects of a kind that is not kept: at most limit of them and fewer where they are large, 0 for all. It begins where a page ended
// that gave next, empty for the first; without next it is the last. Of these objects found are those that choose chooses. ErrWide where all are
// too large for one answer.
func (s *Shelf) Page(ctx context.Context, namespace, selector, from string, limit int, choose func(*unstructured.Unstructured) bool) (found []*Item, next string, number uint64, err error) {
	request := s.question()
	request.Namespace, request.LabelSelector, request.Continue = namespace, selector, from
	p := paging{Shelf: s, limit: limit, choose: choose}
	for version := ""; ; {
		if limit > 0 {
			request.Limit = min(pageSize, limit-p.seen)
		}
		page, err := s.list(ctx, request)
		if err != nil {
			return nil, "", 0, err
		}
		if version == "" {
			version = page.ResourceVersion
			if number, err = Numbered(version); err != nil {
				return nil, "", 0, err
			}
		}
		next, full, err := p.take(page)
		switch {
		case err != nil:
			return nil, "", 0, err
		case full || next == "":
			return p.found, next, number, nil
		}
		request.Continue = next
	}
}

// paging is a page that is made.
type paging struct {
	*Shelf
	limit  int
	choose func(*unstructured.Unstructured) bool

	found []*Item
	seen  int
	last  string // the key of what was seen last
	size  int64  // in memory, of what was seen or, without a limit, found
}

// behindAll follows a key of the door, which ends in a version: what comes behind it comes behind all versions of the object.
const behindAll = "/~"

// take takes in what the door sent. It says where the list goes on, and that the page is full.
func (p *paging) take(page *api.ListResponse) (next string, full bool, err error) {
	for i, raw := range page.Items {
		key, one, err := p.kind.itemOf(raw, page.Specs[i])
		if err != nil {
			return "", false, err
		}
		if one == nil {
			continue
		}
		if p.limit > 0 && p.last != "" && p.size+one.Weight() > p.all.most.Page {
			return p.last + behindAll, true, nil
		}
		p.last = key
		p.seen++
		size := one.Weight()
		if one = one.Whole(); p.choose(one.Object) {
			p.found = append(p.found, one)
		} else if p.limit == 0 {
			size = 0
		}
		if p.size += size; p.limit == 0 && p.size > p.all.most.List {
			return "", false, ErrWide
		}
	}
	return page.Continue, p.limit > 0 && (p.seen >= p.limit || p.size > p.all.most.Page), nil
}
