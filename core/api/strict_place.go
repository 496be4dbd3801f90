package api

import (
	"strconv"
	"strings"
)

// place is a position in a document; nil is its root.
type place struct {
	parent *place
	name   string
	index  int // of a list item; -1 for a field
}

// child returns the path of a field or map key below p.
func (p *place) child(name string) *place { return &place{parent: p, name: name, index: -1} }

// item returns the path of a list item below p.
func (p *place) item(i int) *place { return &place{parent: p, index: i} }

// in returns the path of the fields named, each below the one before.
func (p *place) in(names ...string) *place {
	for _, name := range names {
		p = p.child(name)
	}
	return p
}

// placeAt reads a path of plain words and indexes, "spec.stages[0].name".
func placeAt(path string) *place {
	var at *place
	for word := range strings.SplitSeq(path, ".") {
		name, indexes, _ := strings.Cut(word, "[")
		at = at.child(name)
		for index := range strings.SplitSeq(indexes, "[") {
			if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil {
				at = at.item(i)
			}
		}
	}
	return at
}

// String is "spec.policy.tolerations[0].key"; keys that are no plain word stand in brackets,
// `metadata.labels["example.com/tier"]`.
func (p *place) String() string {
	if p == nil {
		return ""
	}
	at := p.parent.String()
	switch {
	case p.index >= 0:
		return at + "[" + strconv.Itoa(p.index) + "]"
	case !plainWord(p.name):
		return at + "[" + quote(p.name) + "]"
	case at == "":
		return clip(p.name)
	default:
		return at + "." + clip(p.name)
	}
}

func plainWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// within reports whether p is q or lies below it, both given as strings.
func within(p, q string) bool {
	if q == "" {
		return true
	}
	rest, ok := strings.CutPrefix(p, q)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
