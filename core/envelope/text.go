package envelope

import (
	"bytes"
	"errors"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"
	kjson "k8s.io/apimachinery/pkg/util/json"
	kyaml "sigs.k8s.io/yaml"
)

const (
	// maxDepth is how deep an object may nest.
	maxDepth = 100
	// A text stands for at most so many times what it is long, and so much more, aliases followed: what it costs to read goes by its length.
	maxTimes, maxMore = 8, 1 << 10
)

// Expected is what an entry of an envelope is to be.
const Expected = "one object: a map with apiVersion, kind and metadata"

var atLine = regexp.MustCompile(`line \d+`)

// Beyond is what lies in an entry that is beyond the bounds, and is not read.
const Beyond = "objects that are too large or too deep, aliases followed"

// Texts reads texts, which have the bounds of one envelope together.
type Texts struct{ left int }

// NewTexts returns what reads texts.
func NewTexts() *Texts { return &Texts{maxBytes} }

// Parse reads the text of an entry of a ConfigMap; found says what is there when it is no object.
func (t *Texts) Parse(text string) (object map[string]any, found string) {
	return parse(text, &t.left)
}

// parse reads an entry of a ConfigMap, YAML or JSON, and takes what it comes to from the bytes that are left.
func parse(value any, left *int) (object map[string]any, found string) {
	text, isText := value.(string)
	if !isText {
		return asObject(value)
	}
	if *left < 0 {
		return nil, Beyond
	}
	root, found := oneDocument(text)
	if found != "" {
		return nil, found
	}
	size := (&measure{sizes: map[*yaml.Node]int{}}).size(root, 0)
	if size > maxTimes*len(text)+maxMore {
		return nil, Beyond
	}
	if *left -= size; *left < 0 {
		return nil, Beyond
	}
	raw, err := kyaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, unreadable(err)
	}
	var tree any
	if err := kjson.Unmarshal(raw, &tree); err != nil {
		return nil, unreadable(err)
	}
	return asObject(tree)
}

func oneDocument(text string) (root *yaml.Node, found string) {
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	root = &yaml.Node{}
	err := decoder.Decode(root)
	switch {
	case errors.Is(err, io.EOF):
		return nil, "nothing"
	case err != nil:
		return nil, unreadable(err)
	case !errors.Is(decoder.Decode(&yaml.Node{}), io.EOF):
		return nil, "more than one document"
	}
	return root, ""
}

// unreadable tells of an error without the text that it is about.
func unreadable(err error) string {
	if line := atLine.FindString(err.Error()); line != "" {
		return "a text that is no YAML, at " + line + " of it"
	}
	return "a text that is no YAML"
}

// measure finds out how long nodes are once aliases are followed.
type measure struct{ sizes map[*yaml.Node]int }

// size is at least the number of bytes that a node takes, and more than an envelope may hold where that is too many or
// the node is too deep, or within itself.
func (m *measure) size(n *yaml.Node, depth int) int {
	if known, measured := m.sizes[n]; measured {
		return known
	}
	m.sizes[n] = maxBytes + 1 // for what leads back here
	if n.Kind == yaml.AliasNode {
		m.sizes[n] = m.size(n.Alias, depth+1)
		return m.sizes[n]
	}
	total := len(n.Value) + 2
	if depth > maxDepth {
		total = maxBytes + 1
	}
	for _, child := range n.Content {
		total = min(total+m.size(child, depth+1), maxBytes+1)
	}
	m.sizes[n] = total
	return total
}
