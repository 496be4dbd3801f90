package configs

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"flotilla/core/strict"
)

// Position is a line and a column of a text, both from 1; zero when it is not known.
type Position struct{ Line, Column int }

// origin is the text that documents were read from. Its nodes are made again once somebody asks for a
// position, since most texts are without fault.
type origin struct {
	text []byte
	line int // of the source, at which the text begins
	// column is the one before the first of the text, on its first line.
	column int
	json   bool

	root *yaml.Node
}

func (o *origin) node() *yaml.Node {
	if o.root != nil {
		return o.root
	}
	if o.json {
		o.root = jsonNodes(o.text)
		return o.root
	}
	if document, wrong := oneNode(part{text: o.text, line: o.line}); wrong == nil && len(document.Content) > 0 {
		o.root = document.Content[0]
	}
	return o.root
}

func (o *origin) position(n *yaml.Node) Position {
	at := Position{Line: n.Line + o.line - 1, Column: n.Column}
	if n.Line == 1 {
		at.Column += o.column
	}
	return at
}

// forget lets go of the nodes, which are larger than the text.
func (o *origin) forget() { o.root = nil }

// Position finds a field of the document by its path, as strict.Fault spells it: the key of a field of a map,
// the first character of an item of a list, and of what is not there the field it would stand in.
func (d *Document) Position(path string) Position {
	if d.origin == nil || d.origin.node() == nil {
		return Position{Line: d.Line}
	}
	at := d.origin.node()
	found := at
	for _, step := range append(slices.Clone(d.within), strict.Steps(path)...) {
		key, value := stepInto(at, step)
		if value == nil {
			break
		}
		found, at = key, value
	}
	return d.origin.position(found)
}

// stepInto returns the node that a step leads to and the one that names it; nil where it leads nowhere. A
// lone item is taken for the list that belongs in its place, and a list of one for its item.
func stepInto(n *yaml.Node, step strict.Step) (key, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.SequenceNode && step.Index >= 0 && step.Index < len(n.Content) && step.Name == "":
		return n.Content[step.Index], n.Content[step.Index]
	case n.Kind == yaml.SequenceNode && step.Index < 0 && len(n.Content) == 1:
		return stepInto(n.Content[0], step)
	case n.Kind == yaml.MappingNode && step.Index == 0:
		return n, n
	case n.Kind == yaml.MappingNode && step.Index < 0:
		return entry(n, step.Name, 0)
	}
	return nil, nil
}

// entry finds a key of a map: its own, then those merged in, then the one that was most likely meant.
func entry(n *yaml.Node, name string, depth int) (key, value *yaml.Node) {
	const maxMerges = 20
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode || depth > maxMerges {
		return nil, nil
	}
	var names []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
		names = append(names, n.Content[i].Value)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].ShortTag() != "!!merge" {
			continue
		}
		merged := []*yaml.Node{n.Content[i+1]}
		if merged[0].Kind == yaml.SequenceNode {
			merged = merged[0].Content
		}
		for _, from := range merged {
			if key, value := entry(from, name, depth+1); value != nil {
				return key, value
			}
		}
	}
	if near := strict.Nearest(name, names); near != "" && len(name) > 3 && depth == 0 {
		return entry(n, near, depth+1)
	}
	return nil, nil
}

// Place writes into a fault where the field it is about stands.
func (d *Document) Place(f *strict.Fault) {
	at := d.Position(f.Path)
	f.File, f.Line, f.Column = d.Source, at.Line, at.Column
}

// Where is "web.yaml:14".
func (d *Document) Where() string { return fmt.Sprintf("%s:%d", d.Source, d.Line) }
