package api

import (
	"regexp"
	"slices"
	"strings"
)

// plainYAML are strings that any YAML reader takes as strings without quotes.
var plainYAML = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)

// wordsYAML are plain words that some YAML reader takes for something else than a string.
var wordsYAML = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// YAML shows a JSON document as block-style YAML, its keys in their order and its numbers with their
// digits.
func YAML(raw []byte) (string, error) {
	tree, _, err := readTree(raw)
	if err != nil {
		return "", err
	}
	return tree.yaml() + "\n", nil
}

// yaml shows the node as block-style YAML, without a final newline.
func (n *node) yaml() string {
	var b strings.Builder
	n.writeYAML(&b, "")
	return strings.TrimRight(b.String(), "\n")
}

// fieldYAML shows the node under its key, or as a list item when key is empty.
func (n *node) fieldYAML(key string) string {
	if key == "" {
		return (&node{shape: shapeList, values: []*node{n}}).yaml()
	}
	return (&node{shape: shapeMap, keys: []string{key}, values: []*node{n}}).yaml()
}

func (n *node) writeYAML(b *strings.Builder, indent string) {
	switch {
	case n.scalar():
		b.WriteString(indent + n.scalarYAML() + "\n")
	case n.shape == shapeMap:
		for i, key := range n.keys {
			b.WriteString(indent)
			n.values[i].writeField(b, key, indent)
		}
	default:
		for _, item := range n.values {
			item.writeItem(b, indent)
		}
	}
}

// writeField writes "key: value"; the indent of its first line stands there already.
func (n *node) writeField(b *strings.Builder, key, indent string) {
	b.WriteString(stringYAML(key) + ":")
	switch {
	case n.scalar():
		b.WriteString(" " + n.scalarYAML() + "\n")
	case n.shape == shapeMap:
		b.WriteString("\n")
		n.writeYAML(b, indent+"  ")
	default:
		b.WriteString("\n")
		n.writeYAML(b, indent)
	}
}

func (n *node) writeItem(b *strings.Builder, indent string) {
	b.WriteString(indent + "- ")
	if n.scalar() {
		b.WriteString(n.scalarYAML() + "\n")
		return
	}
	var inner strings.Builder
	n.writeYAML(&inner, indent+"  ")
	b.WriteString(strings.TrimPrefix(inner.String(), indent+"  "))
}

// scalar reports whether the node is written on the line of its key: what holds nothing is.
func (n *node) scalar() bool {
	return len(n.values) == 0
}

func (n *node) scalarYAML() string {
	text := n.text
	switch n.shape {
	case shapeMap:
		text = "{}"
	case shapeList:
		text = "[]"
	case shapeNull:
		text = "null"
	case shapeText:
		text = stringYAML(n.text)
	}
	if n.comment != "" {
		text += " # " + n.comment
	}
	return text
}

func stringYAML(s string) string {
	if plainYAML.MatchString(s) && !slices.Contains(wordsYAML, strings.ToLower(s)) {
		return s
	}
	return string(appendJSONString(nil, s))
}
