package selected

import (
	"sync"
	"sync/atomic"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Digest is that of an object: where it is the same, so is what chooses it.
type Digest [32]byte

// Object is what is known of an object that may be chosen.
type Object struct {
	Digest Digest
	Name   string
	Labels map[string]string
	// Whole is the object, nil where it was not decoded: then it is chosen if it may be.
	Whole *unstructured.Unstructured
}

// Shared are the selectors of watches, of which each is one however many watches have it.
type Shared struct {
	mu  sync.Mutex
	all map[string]*Selector
}

// Enter is a selector of a watch, until that leaves.
func (a *Shared) Enter(o *metainternalversion.ListOptions) (s *Selector, leave func()) {
	text := written(o)
	a.mu.Lock()
	defer a.mu.Unlock()
	if s = a.all[text]; s == nil {
		if a.all == nil {
			a.all = map[string]*Selector{}
		}
		s = newSelector(o)
		a.all[text] = s
	}
	s.watches.Add(1)
	return s, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if s.watches.Add(-1) == 0 {
			delete(a.all, text)
		}
	}
}

// written tells selectors from others.
func written(o *metainternalversion.ListOptions) (text string) {
	if o == nil {
		return "\n"
	}
	if o.LabelSelector != nil {
		text = o.LabelSelector.String()
	}
	text += "\n"
	if o.FieldSelector != nil {
		text += o.FieldSelector.String()
	}
	return text
}

// Selector chooses objects for all watches that have it. An object is matched once for them.
type Selector struct {
	fields  []field
	may     func(name string, labelled map[string]string) bool
	watches atomic.Int64

	mu      sync.Mutex
	matched map[match]bool
	order   []match // of them, the one that was matched longest ago at oldest
	oldest  int
}

// match is an object that was matched, decoded or not.
type match struct {
	Digest
	whole bool
}

// mostMatched is of how many objects a selector knows whether it chooses them: watches are told of the same changes at about the same time.
const mostMatched = 128

func newSelector(o *metainternalversion.ListOptions) *Selector {
	s := &Selector{may: May(o)}
	if o != nil {
		s.fields = requiredOf(o.FieldSelector)
	}
	return s
}

// Chooses says whether an object is chosen.
func (s *Selector) Chooses(o *Object) bool {
	if s.watches.Load() == 1 {
		return s.matches(o)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := match{o.Digest, o.Whole != nil}
	is, known := s.matched[key]
	if !known {
		is = s.matches(o)
		s.keep(key, is)
	}
	return is
}

// keep notes whether an object is chosen, in the place of the one that was matched longest ago.
func (s *Selector) keep(key match, is bool) {
	if s.matched == nil {
		s.matched = map[match]bool{}
	}
	if len(s.order) < mostMatched {
		s.order = append(s.order, key)
	} else {
		delete(s.matched, s.order[s.oldest])
		s.order[s.oldest] = key
		s.oldest = (s.oldest + 1) % mostMatched
	}
	s.matched[key] = is
}

func (s *Selector) matches(o *Object) bool {
	if !s.may(o.Name, o.Labels) {
		return false
	}
	for i := range s.fields {
		if o.Whole != nil && !s.fields[i].of(o.Whole) {
			return false
		}
	}
	return true
}
