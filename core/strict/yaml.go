package strict

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
	tree, _, err := Parse(raw)
	if err != nil {
		return "", err
	}
	return tree.YAML() + "\n", nil
}

// YAML shows the node as block-style YAML, without a final newline.
func (n *Node) YAML() string {
	var b strings.Builder
	n.writeYAML(&b, "")
	return strings.TrimRight(b.String(), "\n")
}

// fieldYAML shows the node under its key, or as a list item when key is empty.
func (n *Node) fieldYAML(key string) string {
	if key == "" {
		return (&Node{Shape: ShapeList, Values: []*Node{n}}).YAML()
	}
	return (&Node{Shape: ShapeMap, Keys: []string{key}, Values: []*Node{n}}).YAML()
}

func (n *Node) writeYAML(b *strings.Builder, indent string) {
	switch {
	case n.scalar():
		b.WriteString(indent + n.scalarYAML() + "\n")
	case n.Shape == ShapeMap:
		for i, key := range n.Keys {
			b.WriteString(indent)
			n.Values[i].writeField(b, key, indent)
		}
	default:
		for _, item := range n.Values {
			item.writeItem(b, indent)
		}
	}
}

// writeField writes "key: value"; the indent of its first line stands there already.
func (n *Node) writeField(b *strings.Builder, key, indent string) {
	b.WriteString(stringYAML(key) + ":")
	switch {
	case n.scalar():
		b.WriteString(" " + n.scalarYAML() + "\n")
	case n.Shape == ShapeMap:
		b.WriteString("\n")
		n.writeYAML(b, indent+"  ")
	default:
		b.WriteString("\n")
		n.writeYAML(b, indent)
	}
}

func (n *Node) writeItem(b *strings.Builder, indent string) {
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
func (n *Node) scalar() bool {
	return len(n.Values) == 0
}

func (n *Node) scalarYAML() string {
	text := n.Text
	switch n.Shape {
	case ShapeMap:
		text = "{}"
	case ShapeList:
		text = "[]"
	case ShapeNull:
		text = "null"
	case ShapeText:
		text = stringYAML(n.Text)
	}
	if n.Comment != "" {
		text += " # " + n.Comment
	}
	return text
}

func stringYAML(s string) string {
	if plainYAML.MatchString(s) && !slices.Contains(wordsYAML, strings.ToLower(s)) {
		return s
	}
	return string(appendJSONString(nil, s))
}
