package watch

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"flotilla/bus"
	"flotilla/subjects"
)

// What records take in memory, in bytes: each so much, and so much for each object, list and further value in its JSON. An
// object that decodes into a map takes some 350, one that decodes into a struct some 150 beside its texts.
const (
	weightOfRecord = 1 << 10
	weightOfObject = 256
	weightOfList   = 32
	weightOfValue  = 16
)

// Weigh is about how many bytes of memory the record of a key takes that says so much in JSON. What people applied is there
// several times: as text, and as each of the rooms decodes that.
func Weigh(key string, text []byte) int64 {
	if strings.HasPrefix(key, specs) && !strings.HasPrefix(key, subjects.ObjectSpecs.Prefix()) {
		return weightOfRecord + 2*weigh(text)
	}
	return weightOfRecord + weigh(text)
}

// specs is what the keys of specs begin with.
const specs = "spec."

func weigh(text []byte) int64 {
	weight := int64(len(text))
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = afterText(text, i)
		case '{':
			weight += weightOfObject
		case '[':
			weight += weightOfList
		case ',':
			weight += weightOfValue
		}
	}
	return weight
}

// afterText is where the quote is that ends the text which begins at i, the end of all where none does.
func afterText(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// Weights are what all records that are known take in memory, by what people call them. They are kept as records come, change
// and go, and may be used from any goroutine.
type Weights struct {
	mu    sync.RWMutex
	held  map[string]int64 // by key
	kinds map[string]*Weighed
	all   Weighed
}

// Weighed is what the records of one kind take, or all of them.
type Weighed struct {
	Kind    string
	Bytes   int64
	Records int
}

// NewWeights are those of nothing.
func NewWeights() *Weights { return &Weights{held: map[string]int64{}, kinds: map[string]*Weighed{}} }

// Take weighs what is stored of a key, nil where it is gone, and returns its JSON; what cannot be unpacked it returns as it is.
func (w *Weights) Take(key string, stored []byte) []byte {
	if stored == nil {
		w.Put(key, 0)
		return nil
	}
	text, err := bus.RecordBounds.Unpack(stored)
	if err != nil {
		text = stored
	}
	w.Put(key, Weigh(key, text))
	return text
}

// Put has the record of a key take so much from now on, nothing where it is gone.
func (w *Weights) Put(key string, weight int64) {
	kind := subjects.KindOf(key)
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.held[key]
	sum := w.kinds[kind]
	if sum == nil {
		sum = &Weighed{Kind: kind}
		w.kinds[kind] = sum
	}
	if known {
		w.add(sum, -before, -1)
		delete(w.held, key)
	}
	if weight > 0 {
		w.add(sum, weight, 1)
		w.held[key] = weight
	}
	if sum.Records == 0 {
		delete(w.kinds, kind)
	}
}

// add counts records of a kind, and so of all; the lock is held.
func (w *Weights) add(sum *Weighed, weight int64, records int) {
	for _, s := range []*Weighed{sum, &w.all} {
		s.Bytes += weight
		s.Records += records
	}
}

// Of is what the record of a key takes, 0 where there is none.
func (w *Weights) Of(key string) int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.held[key]
}

// All is what all records take.
func (w *Weights) All() Weighed {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.all
}

// Most are the kinds whose records take most, at most so many, the first with most.
func (w *Weights) Most(n int) []Weighed {
	w.mu.RLock()
	kinds := make([]Weighed, 0, len(w.kinds))
	for _, sum := range w.kinds {
		kinds = append(kinds, *sum)
	}
	w.mu.RUnlock()
	slices.SortFunc(kinds, func(a, b Weighed) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Kind, b.Kind)) })
	return kinds[:min(len(kinds), n)]
}
