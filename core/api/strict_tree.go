package api

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

// shape is what a node of a document is.
type shape int

const (
	shapeNull shape = iota
	shapeMap
	shapeList
	shapeText
	shapeNumber
	shapeBool
)

// node is one value of a document: unlike map[string]any it keeps the order of keys and the text of
// numbers, so that a corrected document reads like the one that was given.
type node struct {
	shape shape
	// keys of a map, parallel to values.
	keys []string
	// values of a map, or items of a list.
	values []*node
	// text of a string, number or boolean.
	text string
	// comment follows a scalar when it is shown as YAML.
	comment string
}

func textNode(s string) *node { return &node{shape: shapeText, text: s} }
func listNode(items ...*node) *node {
	return &node{shape: shapeList, values: items}
}

func emptyMap() *node { return &node{shape: shapeMap} }

// with is set, for building a map in one expression.
func (n *node) with(key string, value *node) *node {
	n.set(key, value)
	return n
}

func numberNode(n int64) *node { return &node{shape: shapeNumber, text: strconv.FormatInt(n, 10)} }

// get returns the value under key, or nil.
func (n *node) get(key string) *node {
	if n == nil || n.shape != shapeMap {
		return nil
	}
	for i, k := range n.keys {
		if k == key {
			return n.values[i]
		}
	}
	return nil
}

// set puts value under key, after the keys that are there when the key is not one of them.
func (n *node) set(key string, value *node) {
	for i, k := range n.keys {
		if k == key {
			n.values[i] = value
			return
		}
	}
	n.keys = append(n.keys, key)
	n.values = append(n.values, value)
}

// remove takes key out of a map.
func (n *node) remove(key string) {
	if n == nil {
		return
	}
	for i, k := range n.keys {
		if k == key {
			n.keys = append(n.keys[:i], n.keys[i+1:]...)
			n.values = append(n.values[:i], n.values[i+1:]...)
			return
		}
	}
}

// put places value at a path of a document, where the path leads; an old name there goes away.
func (n *node) put(at *place, value *node, rename string) {
	if at == nil {
		*n = *value
		return
	}
	holder := n.find(at.parent)
	switch {
	case holder == nil:
	case at.index >= 0 && holder.shape == shapeList && at.index < len(holder.values):
		holder.values[at.index] = value
	case at.index < 0 && holder.shape == shapeMap && rename != "":
		holder.remove(at.name)
		holder.set(rename, value)
	case at.index < 0 && holder.shape == shapeMap:
		holder.set(at.name, value)
	}
}

// find returns the node at a path, or nil.
func (n *node) find(at *place) *node {
	if at == nil {
		return n
	}
	holder := n.find(at.parent)
	switch {
	case holder == nil:
		return nil
	case at.index < 0:
		return holder.get(at.name)
	case holder.shape == shapeList && at.index < len(holder.values):
		return holder.values[at.index]
	default:
		return nil
	}
}

// appendJSON writes the node as JSON.
func (n *node) appendJSON(b []byte) []byte {
	switch n.shape {
	case shapeMap:
		b = append(b, '{')
		for i, k := range n.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSONString(b, k)
			b = n.values[i].appendJSON(append(b, ':'))
		}
		return append(b, '}')
	case shapeList:
		b = append(b, '[')
		for i, item := range n.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case shapeText:
		return appendJSONString(b, n.text)
	case shapeNumber, shapeBool:
		return append(b, n.text...)
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
func (n *node) String() string {
	switch n.shape {
	case shapeMap:
		if len(n.keys) == 0 {
			return "an empty map"
		}
		return "a map (" + clip(strings.Join(n.keys, ", ")) + ")"
	case shapeList:
		return fmt.Sprintf("a list of %d", len(n.values))
	case shapeText:
		return quote(n.text)
	case shapeNumber:
		return "number " + n.text
	case shapeBool:
		return "boolean " + n.text
	default:
		return "null"
	}
}

// quote shows a string value, cut when it is long.
func quote(s string) string { return strconv.Quote(clip(s)) }

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
	duplicates []finding
}

// readTree parses one JSON document.
func readTree(raw []byte) (*node, []finding, error) {
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

func (r *treeReader) value(at *place, depth int) (*node, error) {
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
		return textNode(t), nil
	case json.Number:
		return &node{shape: shapeNumber, text: t.String()}, nil
	case bool:
		return &node{shape: shapeBool, text: strconv.FormatBool(t)}, nil
	default:
		return &node{shape: shapeNull}, nil
	}
}

func (r *treeReader) mapping(at *place, depth int) (*node, error) {
	n := &node{shape: shapeMap}
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
		value, err := r.value(at.child(key), depth+1)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			if len(r.duplicates) < maxFindings {
				r.duplicates = append(r.duplicates, finding{at: at.child(key), found: "the key more than once", expected: "each key once", kind: FaultDuplicate})
			}
			continue
		}
		seen[key] = true
		n.keys = append(n.keys, key)
		n.values = append(n.values, value)
	}
	_, err := r.dec.Token()
	return n, err
}

func (r *treeReader) list(at *place, depth int) (*node, error) {
	n := &node{shape: shapeList}
	for r.dec.More() {
		item, err := r.value(at.item(len(n.values)), depth+1)
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, item)
	}
	_, err := r.dec.Token()
	return n, err
}
