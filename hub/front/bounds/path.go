package bounds

import (
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// mostPath is how long the path of a column is at most, in bytes.
const mostPath = 1 << 10

// Simple says that a path is one, and leads to each value once at most: a path that goes down any number of levels, or unites others, costs
// as much as somebody likes.
func Simple(path string) bool {
	if len(path) > mostPath || !strings.HasPrefix(path, ".") {
		return false
	}
	parsed, err := jsonpath.Parse("column", "{"+path+"}")
	return err == nil && len(parsed.Root.Nodes) == 1 && onward(parsed.Root)
}

// onward says that the steps of a path lead from each value to those in it, each once.
func onward(node jsonpath.Node) bool {
	switch n := node.(type) {
	case *jsonpath.ListNode:
		return !slices.ContainsFunc(n.Nodes, func(step jsonpath.Node) bool { return !onward(step) })
	case *jsonpath.FilterNode:
		return onward(n.Left) && onward(n.Right)
	case *jsonpath.FieldNode, *jsonpath.ArrayNode, *jsonpath.WildcardNode, *jsonpath.TextNode, *jsonpath.IntNode, *jsonpath.FloatNode, *jsonpath.BoolNode:
		return true
	}
	return false
}
