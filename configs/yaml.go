package configs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxExpanded bounds the JSON that one YAML document may become, so that aliases of aliases cannot
// fill the memory.
const maxExpanded = 16 << 20

// lineInError finds the line in what the YAML library says.
var lineInError = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// parseYAML reads one YAML document.
func parseYAML(source string, index int, p part) ([]Document, Problems) {
	var root yaml.Node
	if err := yaml.Unmarshal(p.text, &root); err != nil {
		return nil, Problems{syntaxProblem(source, index, p, err)}
	}
	if root.Kind == 0 || len(root.Content) == 0 || root.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	body := root.Content[0]
	c := converter{source: source, index: index, offset: p.line - 1}
	out := c.value(nil, body, 0)
	if body.Kind != yaml.MappingNode && len(c.problems) == 0 {
		c.problem(body, "an object is expected, a map with apiVersion, kind and metadata")
	}
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b Problem) int { return a.Line - b.Line })
		return nil, c.problems
	}
	d := Document{Source: source, Index: index, Line: body.Line + c.offset, JSON: out}
	return flatten(d, itemLines(body, c.offset))
}

func syntaxProblem(source string, index int, p part, err error) Problem {
	text := err.Error()
	found := lineInError.FindStringSubmatch(text)
	line := p.line
	if n, err := strconv.Atoi(found[1]); err == nil {
		line += n - 1
	}
	return Problem{Source: source, Index: index, Line: line, Text: strings.TrimPrefix(text, found[0])}
}

// itemLines returns the lines of the items of a list.
func itemLines(body *yaml.Node, offset int) []int {
	var lines []int
	for i := 0; i+1 < len(body.Content); i += 2 {
		if body.Content[i].Value != "items" || body.Content[i+1].Kind != yaml.SequenceNode {
			continue
		}
		for _, item := range body.Content[i+1].Content {
			lines = append(lines, item.Line+offset)
		}
	}
	return lines
}

// converter turns nodes into JSON and collects what has no place there.
type converter struct {
	source   string
	index    int
	offset   int
	problems Problems
	// mappings counts the maps that were opened, aliases followed each time.
	mappings int
	full     bool
}

// overflows stops a document whose aliases multiply it.
func (c *converter) overflows(n *yaml.Node, written, depth int) bool {
	const maxDepth, maxMappings = 500, 1 << 20
	if !c.full && (written > maxExpanded || depth > maxDepth || c.mappings > maxMappings) {
		c.full = true
		c.problem(n, "the document grows beyond all bounds here; are its aliases meant?")
	}
	return c.full
}

func (c *converter) problem(n *yaml.Node, text string) {
	c.problems = append(c.problems, Problem{Source: c.source, Index: c.index, Line: n.Line + c.offset, Text: text})
}

// value appends the JSON of a node.
func (c *converter) value(b []byte, n *yaml.Node, depth int) []byte {
	if c.overflows(n, len(b), depth) {
		return b
	}
	switch n.Kind {
	case yaml.AliasNode:
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
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, c.merged(value, depth+1)...)
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			c.problem(key, "a key is expected to be a string")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			c.problem(key, fmt.Sprintf("key %q is there already, on line %d", key.Value, line+c.offset))
			continue
		}
		seen[key.Value] = key.Line
		own = append(own, pair{key.Value, value})
	}
	for _, p := range merged {
		if _, there := seen[p.key]; !there {
			seen[p.key] = p.value.Line
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
		c.problem(n, "a map, or a list of maps, is expected after <<")
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
			c.problem(n, err.Error())
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
		c.problem(n, "the tag "+n.Tag+" means nothing here")
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
			return "0", fmt.Errorf("%s does not fit into 64 bits", text)
		}
		return strconv.FormatInt(n, 10), nil
	}
	found := loose.FindStringSubmatch(text)
	if found == nil {
		return "0", fmt.Errorf("the number %s cannot be written as JSON", text)
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
