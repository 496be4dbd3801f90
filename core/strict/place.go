package strict

import (
	"strconv"
	"strings"
)

// Place is a position in a document; nil is its root.
type Place struct {
	parent *Place
	name   string
	index  int // of a list item; -1 for a field
}

// Child returns the path of a field or map key below p.
func (p *Place) Child(name string) *Place { return &Place{parent: p, name: name, index: -1} }

// Item returns the path of a list item below p.
func (p *Place) Item(i int) *Place { return &Place{parent: p, index: i} }

// In returns the path of the fields named, each below the one before.
func (p *Place) In(names ...string) *Place {
	for _, name := range names {
		p = p.Child(name)
	}
	return p
}

// Under returns the path p of what lies at another place.
func (p *Place) Under(at *Place) *Place {
	if p == nil {
		return at
	}
	return &Place{parent: p.parent.Under(at), name: p.name, index: p.index}
}

// At reads a path as Steps does.
func At(path string) *Place {
	var at *Place
	for _, step := range Steps(path) {
		at = &Place{parent: at, name: step.Name, index: step.Index}
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
func (p *Place) String() string {
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
		return path + "[" + Quote(name) + "]"
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

// Within reports whether p is q or lies below it, both given as strings.
func Within(p, q string) bool {
	if q == "" {
		return true
	}
	rest, ok := strings.CutPrefix(p, q)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
