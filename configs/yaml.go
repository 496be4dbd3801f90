package configs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"flotilla/core/strict"
)

// maxExpanded bounds the JSON that one YAML document may become, so that aliases of aliases cannot
// fill the memory.
const maxExpanded = 16 << 20

// parseYAML reads one YAML document.
func parseYAML(source string, index int, p part) ([]Document, Problems) {
	root, wrong := oneNode(p)
	if wrong != nil {
		wrong.Source = source
		return nil, Problems{*wrong}
	}
	if root.Kind == 0 || len(root.Content) == 0 || root.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	body := root.Content[0]
	o := &origin{text: p.text, line: p.line, root: body}
	c := converter{source: source, origin: o}
	out := c.value(nil, body, 0)
	if body.Kind != yaml.MappingNode && len(c.problems) == 0 {
		found := "a list"
		if body.Kind == yaml.ScalarNode {
			found = "a single value"
		}
		c.problem(body, found, "an object: a map with apiVersion, kind and metadata")
	}
	c.twice(body, "")
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return a.Line - b.Line })
	if c.lost {
		return nil, c.problems
	}
	d := Document{Source: source, Index: index, Line: o.position(body).Line, JSON: out, origin: o}
	items, more := flatten(d)
	o.forget()
	return items, append(c.problems, more...)
}

// converter turns nodes into JSON and collects what has no place there.
type converter struct {
	source   string
	origin   *origin
	problems Problems
	// lost says that the JSON is not what the text says.
	lost bool
	// mappings counts the maps that were opened, aliases followed each time.
	mappings int
	// aliased says that an alias was followed.
	aliased bool
	full    bool
}

// overflows stops a document whose aliases multiply it, or that is too deep.
func (c *converter) overflows(n *yaml.Node, written, depth int) bool {
	const maxDepth, maxMappings = 500, 1 << 20
	switch {
	case c.full:
	case depth > maxDepth && !c.aliased:
		c.full = true
		c.problem(n, fmt.Sprintf("a value within %d others", depth), fmt.Sprintf("at most %d within each other", maxDepth))
	case written > maxExpanded || depth > maxDepth || c.mappings > maxMappings:
		c.full = true
		c.problem(n, "a document that grows beyond all bounds here", "one whose aliases do not multiply each other")
	}
	return c.full
}

func (c *converter) problem(n *yaml.Node, found, expected string) {
	c.lost = true
	c.problems = append(c.problems, Problem{
		Source: c.source, Position: c.origin.position(n), Kind: strict.FaultType, Text: found, Expected: expected,
	})
}

// twice finds the keys that stand twice in one map; path leads to n.
func (c *converter) twice(n *yaml.Node, path string) {
	if c.full || n == nil || n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
		return
	}
	if n.Kind == yaml.SequenceNode {
		for i, item := range n.Content {
			c.twice(item, path+"["+strconv.Itoa(i)+"]")
		}
		return
	}
	seen := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, at := n.Content[i], strict.Below(path, n.Content[i].Value)
		c.twice(n.Content[i+1], at)
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			continue
		}
		if first := seen[key.Value]; first != nil {
			c.problems = append(c.problems, Problem{
				Source: c.source, Position: c.origin.position(key), Path: at, Kind: strict.FaultDuplicate,
				Text: fmt.Sprintf("the key a second time, first on line %d", c.origin.position(first).Line), Expected: "each key once",
			})
			continue
		}
		seen[key.Value] = key
	}
}

// value appends the JSON of a node.
func (c *converter) value(b []byte, n *yaml.Node, depth int) []byte {
	if c.overflows(n, len(b), depth) {
		return b
	}
	switch n.Kind {
	case yaml.AliasNode:
		c.aliased = true
		return c.value(b, n.Alias, depth+1)
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = c.value(b, item, depth+1)
		}
		return append(b, ']')
	case yaml.MappingNode:
		return c.mapping(b, n, depth)
	default:
		return c.scalar(b, n)
	}
}

func (c *converter) mapping(b []byte, n *yaml.Node, depth int) []byte {
	b = append(b, '{')
	for i, pair := range c.pairs(n, depth) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, pair.key)
		b = c.value(append(b, ':'), pair.value, depth+1)
	}
	return append(b, '}')
}

// pair is one entry of a map.
type pair struct {
	key   string
	value *yaml.Node
}

// pairs returns the entries of a map, merged ones ("<<") after its own, which win over them.
func (c *converter) pairs(n *yaml.Node, depth int) []pair {
	c.mappings++
	var own, merged []pair
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, c.merged(value, depth+1)...)
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			c.problem(key, "a key that is no string", "a string before the colon")
			continue
		}
		if seen[key.Value] {
			continue // see twice
		}
		seen[key.Value] = true
		own = append(own, pair{key.Value, value})
	}
	for _, p := range merged {
		if !seen[p.key] {
			seen[p.key] = true
			own = append(own, p)
		}
	}
	return own
}

// merged returns the entries that a merge key brings in.
func (c *converter) merged(n *yaml.Node, depth int) []pair {
	if c.overflows(n, 0, depth) {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		c.aliased = true
		return c.merged(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.pairs(n, depth)
	case yaml.SequenceNode:
		var out []pair
		for _, item := range n.Content {
			out = append(out, c.merged(item, depth+1)...)
		}
		return out
	default:
		c.problem(n, "something else after <<", "a map, or a list of maps")
		return nil
	}
}

func (c *converter) scalar(b []byte, n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(b, "null"...)
	case "!!bool":
		return strconv.AppendBool(b, strings.EqualFold(n.Value, "true"))
	case "!!int", "!!float":
		out, err := jsonNumber(n.Value)
		if err != nil {
			c.problem(n, err.Error(), "another number, or a string in quotes")
		}
		return append(b, out...)
	case "!!str", "!!timestamp":
		if n.Style == 0 {
			if word, ok := boolWords[n.Value]; ok {
				return strconv.AppendBool(b, word)
			}
		}
		return appendString(b, n.Value)
	default:
		c.problem(n, "the tag "+n.Tag, "a value without it: it means nothing here")
		return b
	}
}

// boolWords are booleans to the YAML 1.1 that Kubernetes' tools read, though not to YAML 1.2.
var boolWords = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

var (
	decimal  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	loose    = regexp.MustCompile(`^([-+]?)0*([0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
	octal    = regexp.MustCompile(`^[-+]?0o?[0-7]+$`)
	otherInt = regexp.MustCompile(`^[-+]?0[xXbB]`)
)

// jsonNumber spells a YAML number as JSON does. Decimal digits stay as they are, however many.
func jsonNumber(text string) (string, error) {
	if decimal.MatchString(text) {
		return text, nil
	}
	text = strings.ReplaceAll(text, "_", "")
	if octal.MatchString(text) || otherInt.MatchString(text) {
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return "0", fmt.Errorf("%s, which does not fit into 64 bits", text)
		}
		return strconv.FormatInt(n, 10), nil
	}
	found := loose.FindStringSubmatch(text)
	if found == nil {
		return "0", fmt.Errorf("the number %s, which JSON cannot hold", text)
	}
	sign, whole, fraction, exponent := strings.TrimPrefix(found[1], "+"), found[2], found[3], found[4]
	if whole == "" {
		whole = "0"
	}
	if fraction == "." {
		fraction = ""
	}
	return sign + whole + fraction + exponent, nil
}

func appendString(b []byte, s string) []byte {
	out, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, out...)
}
