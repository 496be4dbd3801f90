package records

import (
	"sync"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
)

// Shelf keeps an index of all content in step with its table: changes are noted as they come and
// followed when the index is used.
type Shelf struct {
	objects *store.Records[api.Spec]
	mu      sync.Mutex
	changed map[string]struct{}
	index   *content.Index
}

// NewShelf returns a shelf of a table of content; namespaces that are skipped are placed by nobody.
func NewShelf(objects *store.Records[api.Spec], skipped []string) *Shelf {
	s := &Shelf{objects: objects, changed: map[string]struct{}{}, index: content.NewIndex()}
	s.index.Reserve(skipped...)
	objects.OnChange(s.Note)
	return s
}

// Note has an object looked at anew.
func (s *Shelf) Note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed[name] = struct{}{}
}

// Current returns an index of what the table holds now, which the caller may change.
func (s *Shelf) Current() *content.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.changed {
		head, _, found, err := s.objects.Find(name)
		switch {
		case err != nil:
			continue // it is not gone
		case found:
			s.index.Set(head)
		default:
			s.index.RemoveKey(name)
		}
		delete(s.changed, name)
	}
	return s.index.Clone()
}
