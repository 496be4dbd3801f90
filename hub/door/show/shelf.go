package show

import (
	"slices"
	"sync"
)

// shelf keeps rows sorted by name, each made anew only after news of it. The zero value is empty.
type shelf[T any] struct {
	mu   sync.Mutex
	news map[string]struct{}

	// What follows is of one reader at a time.
	names []string
	rows  []T
}

// hear notes that a row is to be made anew.
func (s *shelf[T]) hear(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.news == nil {
		s.news = map[string]struct{}{}
	}
	s.news[name] = struct{}{}
}

func (s *shelf[T]) take() map[string]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := s.news
	s.news = nil
	return news
}

// refresh makes the rows anew that there is news of; one that is not there is dropped, see of.
func (s *shelf[T]) refresh(make func(name string) (T, bool)) {
	var fresh map[string]T
	for name := range s.take() {
		at, known := slices.BinarySearch(s.names, name)
		row, there := make(name)
		switch {
		case known && there:
			s.rows[at] = row
		case known:
			s.names, s.rows = slices.Delete(s.names, at, at+1), slices.Delete(s.rows, at, at+1)
		case there:
			if fresh == nil {
				fresh = map[string]T{}
			}
			fresh[name] = row
		}
	}
	s.merge(fresh)
}

// merge adds rows of other names.
func (s *shelf[T]) merge(fresh map[string]T) {
	if len(fresh) == 0 {
		return
	}
	for i, name := range s.names {
		fresh[name] = s.rows[i]
	}
	s.names = make([]string, 0, len(fresh))
	for name := range fresh {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	s.rows = make([]T, len(s.names))
	for i, name := range s.names {
		s.rows[i] = fresh[name]
	}
}

// at is the row of a name as it was made last.
func (s *shelf[T]) at(name string) (*T, bool) {
	at, known := slices.BinarySearch(s.names, name)
	if !known {
		return nil, false
	}
	return &s.rows[at], true
}
