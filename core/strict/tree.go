package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxDepth bounds how deeply a document may nest.
const maxDepth = 100

// Shape is what a node of a document is.
type Shape int

// The shapes of nodes.
const (
	ShapeNull Shape = iota
	ShapeMap
	ShapeList
	ShapeText
	ShapeNumber
	ShapeBool
)

// Node is one value of a document: unlike map[string]any it keeps the order of keys and the text of
// numbers, so that a corrected document reads like the one that was given.
type Node struct {
	Shape Shape
	// Keys of a map, parallel to values.
	Keys []string
	// Values of a map, or items of a list.
	Values []*Node
	// Text of a string, number or boolean.
	Text string
	// Comment follows a scalar when it is shown as YAML.
	Comment string
}

// TextNode is a string.
func TextNode(s string) *Node { return &Node{Shape: ShapeText, Text: s} }

// ListNode is a list.
func ListNode(items ...*Node) *Node {
	return &Node{Shape: ShapeList, Values: items}
}

// EmptyMap is a map to be filled by With.
func EmptyMap() *Node { return &Node{Shape: ShapeMap} }

// With is set, for building a map in one expression.
func (n *Node) With(key string, value *Node) *Node {
	n.Set(key, value)
	return n
}

// NumberNode is a whole number.
func NumberNode(n int64) *Node { return &Node{Shape: ShapeNumber, Text: strconv.FormatInt(n, 10)} }

// Get returns the value under key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Shape != ShapeMap {
		return nil
	}
	for i, k := range n.Keys {
		if k == key {
			return n.Values[i]
		}
	}
	return nil
}

// Set puts value under key, after the keys that are there when the key is not one of them.
func (n *Node) Set(key string, value *Node) {
	for i, k := range n.Keys {
		if k == key {
			n.Values[i] = value
			return
		}
	}
	n.Keys = append(n.Keys, key)
	n.Values = append(n.Values, value)
}

// Remove takes key out of a map.
func (n *Node) Remove(key string) {
	if n == nil {
		return
	}
	for i, k := range n.Keys {
		if k == key {
			n.Keys = append(n.Keys[:i], n.Keys[i+1:]...)
			n.Values = append(n.Values[:i], n.Values[i+1:]...)
			return
		}
	}
}

// Put places value at a path of a document, where the path leads; an old name there goes away.
func (n *Node) Put(at *Place, value *Node, rename string) {
	if at == nil {
		*n = *value
		return
	}
	holder := n.find(at.parent)
	switch {
	case holder == nil:
	case at.index >= 0 && holder.Shape == ShapeList && at.index < len(holder.Values):
		holder.Values[at.index] = value
	case at.index < 0 && holder.Shape == ShapeMap && rename != "":
		holder.Remove(at.name)
		holder.Set(rename, value)
	case at.index < 0 && holder.Shape == ShapeMap:
		holder.Set(at.name, value)
	}
}

// find returns the node at a path, or nil.
func (n *Node) find(at *Place) *Node {
	if at == nil {
		return n
	}
	holder := n.find(at.parent)
	switch {
	case holder == nil:
		return nil
	case at.index < 0:
		return holder.Get(at.name)
	case holder.Shape == ShapeList && at.index < len(holder.Values):
		return holder.Values[at.index]
	default:
		return nil
	}
}

// AppendJSON writes the node as JSON.
func (n *Node) AppendJSON(b []byte) []byte {
	switch n.Shape {
	case ShapeMap:
		b = append(b, '{')
		for i, k := range n.Keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSONString(b, k)
			b = n.Values[i].AppendJSON(append(b, ':'))
		}
		return append(b, '}')
	case ShapeList:
		b = append(b, '[')
		for i, item := range n.Values {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b)
		}
		return append(b, ']')
	case ShapeText:
		return appendJSONString(b, n.Text)
	case ShapeNumber, ShapeBool:
		return append(b, n.Text...)
	default:
		return append(b, "null"...)
	}
}

func appendJSONString(b []byte, s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return append(b, `""`...)
	}
	return append(b, bytes.TrimRight(out.Bytes(), "\n")...)
}

// String shows the node in a few words, for Fault.Found.
func (n *Node) String() string {
	switch n.Shape {
	case ShapeMap:
		if len(n.Keys) == 0 {
			return "an empty map"
		}
		return "a map (" + clip(strings.Join(n.Keys, ", ")) + ")"
	case ShapeList:
		return fmt.Sprintf("a list of %d", len(n.Values))
	case ShapeText:
		return Quote(n.Text)
	case ShapeNumber:
		return "number " + n.Text
	case ShapeBool:
		return "boolean " + n.Text
	default:
		return "null"
	}
}

// Quote shows a string value, cut when it is long.
func Quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// treeReader reads JSON into nodes and notes duplicate keys.
type treeReader struct {
	dec        *json.Decoder
	duplicates []Finding
}

// Parse parses one JSON document.
func Parse(raw []byte) (*Node, []Finding, error) {
	r := treeReader{dec: json.NewDecoder(bytes.NewReader(raw))}
	r.dec.UseNumber()
	root, err := r.value(nil, 0)
	if err != nil {
		return nil, nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("more text follows the document")
	}
	return root, r.duplicates, nil
}

func (r *treeReader) value(at *Place, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep at %s", maxDepth, at)
	}
	token, err := r.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it ends too early")
	}
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return r.mapping(at, depth)
		}
		return r.list(at, depth)
	case string:
		return TextNode(t), nil
	case json.Number:
		return &Node{Shape: ShapeNumber, Text: t.String()}, nil
	case bool:
		return &Node{Shape: ShapeBool, Text: strconv.FormatBool(t)}, nil
	default:
		return &Node{Shape: ShapeNull}, nil
	}
}

func (r *treeReader) mapping(at *Place, depth int) (*Node, error) {
	n := &Node{Shape: ShapeMap}
	seen := make(map[string]bool)
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("a key that is not a string at %s", at)
		}
		value, err := r.value(at.Child(key), depth+1)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			if len(r.duplicates) < MaxFindings {
				r.duplicates = append(r.duplicates, Finding{At: at.Child(key), Found: "the key more than once", Expected: "each key once", Kind: FaultDuplicate})
			}
			continue
		}
		seen[key] = true
		n.Keys = append(n.Keys, key)
		n.Values = append(n.Values, value)
	}
	_, err := r.dec.Token()
	return n, err
}

func (r *treeReader) list(at *Place, depth int) (*Node, error) {
	n := &Node{Shape: ShapeList}
	for r.dec.More() {
		item, err := r.value(at.Item(len(n.Values)), depth+1)
		if err != nil {
			return nil, err
		}
		n.Values = append(n.Values, item)
	}
	_, err := r.dec.Token()
	return n, err
}
