package show

import (
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"flotilla/hub/flotilla/cli/session"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// describer writes an object the way kubectl describe does: field names in words, maps and lists
// indented, values in a column.
type describer struct {
	out io.Writer
}

// acronyms keep their capitals in field names.
var acronyms = map[string]string{"api": "API", "uid": "UID", "url": "URL", "id": "ID", "cpu": "CPU", "ip": "IP", "gb": "GB"}

// leftOut are fields of metadata that have lines of their own, or that nobody reads.
var leftOut = []string{"name", "namespace", "labels", "annotations", "managedFields"}

// DescribeObject writes an object as kubectl describe does.
func DescribeObject(obj *unstructured.Unstructured) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	d := describer{out: w}
	d.line(0, "Name", obj.GetName())
	d.line(0, "Namespace", obj.GetNamespace())
	d.pairs("Labels", obj.GetLabels())
	d.pairs("Annotations", obj.GetAnnotations())
	d.line(0, "API Version", obj.GetAPIVersion())
	d.line(0, "Kind", obj.GetKind())
	rest := map[string]any{}
	for key, value := range obj.Object {
		switch key {
		case "apiVersion", "kind":
		case "metadata":
			metadata, _ := value.(map[string]any)
			rest[key] = without(metadata, leftOut)
		default:
			rest[key] = value
		}
	}
	d.fields(0, rest, false)
	_ = w.Flush() // a strings.Builder takes everything
	return TrimLines(text.String())
}

func without(m map[string]any, keys []string) map[string]any {
	kept := map[string]any{}
	for key, value := range m {
		if !slices.Contains(keys, key) {
			kept[key] = value
		}
	}
	return kept
}

func (d *describer) line(level int, label string, value any) {
	session.Say(d.out, "%s%s:\t%v\n", strings.Repeat("  ", level), label, value)
}

// pairs writes labels or annotations, one a line, "<none>" without any.
func (d *describer) pairs(label string, pairs map[string]string) {
	if len(pairs) == 0 {
		d.line(0, label, "<none>")
		return
	}
	keys := SortedKeys(pairs)
	for i, key := range keys {
		value := key + "=" + pairs[key]
		if label == "Annotations" {
			value = key + ": " + pairs[key]
		}
		if i == 0 {
			d.line(0, label, value)
		} else {
			session.Say(d.out, "\t%s\n", value)
		}
	}
}

// keyedByPeople are maps whose keys are names that people gave, and no fields.
var keyedByPeople = []string{
	"labels", "offeredLabels", "matchLabels", "annotations", "data", "stringData", "binaryData", "nodeSelector", "properties",
	"namespaces", "capacity", "allocatable", "available", "limits", "requests", "requested", "uids", "allowed",
}

// fields writes a map; keys that are names of something stay as they are.
func (d *describer) fields(level int, m map[string]any, asNamed bool) {
	for _, key := range SortedKeys(m) {
		label := words(key)
		if asNamed {
			label = key
		}
		switch value := m[key].(type) {
		case map[string]any:
			session.Say(d.out, "%s%s:\n", strings.Repeat("  ", level), label)
			d.fields(level+1, value, slices.Contains(keyedByPeople, key))
		case []any:
			d.items(level, label, value)
		default:
			d.line(level, label, d.value(key, value))
		}
	}
}

// value shows a scalar; the number of members that a placement wants is -1 when it wants all that fit.
func (d *describer) value(key string, value any) any {
	shown := scalar(value)
	if key == "want" && shown == int64(-1) {
		return "all"
	}
	return shown
}

// items writes a list: maps one after another without dashes, as kubectl does, all else one a line.
func (d *describer) items(level int, label string, items []any) {
	session.Say(d.out, "%s%s:\n", strings.Repeat("  ", level), label)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			d.fields(level+1, m, false)
			continue
		}
		session.Say(d.out, "%s%v\n", strings.Repeat("  ", level+1), scalar(item))
	}
}

func scalar(value any) any {
	if value == nil {
		return "<nil>"
	}
	if f, ok := value.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return value
}

// SortedKeys are the keys of a map in their order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// words turns "numberOfClusters" into "Number Of Clusters". Keys that are names of something, with a
// slash, a dot or a dash, stay as they are.
func words(key string) string {
	if strings.ContainsAny(key, "/.-_ ") {
		return key
	}
	var parts []string
	start := 0
	runes := []rune(key)
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || (i+1 < len(runes) && unicode.IsLower(runes[i+1]))) {
			parts = append(parts, string(runes[start:i]))
			start = i
		}
	}
	parts = append(parts, string(runes[start:]))
	for i, p := range parts {
		if acronym, ok := acronyms[strings.ToLower(p)]; ok {
			parts[i] = acronym
			continue
		}
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, " ")
}

// TrimLines takes blanks off the ends of lines.
func TrimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Join(lines, "\n")
}
