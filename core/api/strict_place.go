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

// placeAt reads a path as Steps does.
func placeAt(path string) *place {
	var at *place
	for _, step := range Steps(path) {
		at = &place{parent: at, name: step.Name, index: step.Index}
	}
	return at
}

// Step is one step of a field path: into a field of a map, or, when Index is not -1, into an item of a
// list.
type Step struct {
	Name  string
	Index int
}

// Steps reads the path of a Fault, `spec.stages[0].name` or `metadata.labels["example.com/tier"]`. What
// cannot be read of it is left out.
func Steps(path string) []Step {
	var steps []Step
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if !strings.HasPrefix(path, "[") {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps = append(steps, Step{Name: path[:end], Index: -1})
			path = path[end:]
			continue
		}
		inside := path[1:]
		if quoted, err := strconv.QuotedPrefix(inside); err == nil {
			name, _ := strconv.Unquote(quoted)
			steps = append(steps, Step{Name: name, Index: -1})
			path = strings.TrimPrefix(inside[len(quoted):], "]")
			continue
		}
		number, rest, _ := strings.Cut(inside, "]")
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 {
			return steps
		}
		steps = append(steps, Step{Index: i})
		path = rest
	}
	return steps
}

// String is "spec.policy.tolerations[0].key"; keys that are no plain word stand in brackets,
// `metadata.labels["example.com/tier"]`.
func (p *place) String() string {
	if p == nil {
		return ""
	}
	at := p.parent.String()
	if p.index >= 0 {
		return at + "[" + strconv.Itoa(p.index) + "]"
	}
	return Below(at, p.name)
}

// Below is the path of a field under path, as faults spell it.
func Below(path, name string) string {
	switch {
	case !plainWord(name):
		return path + "[" + quote(name) + "]"
	case path == "":
		return clip(name)
	}
	return path + "." + clip(name)
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
