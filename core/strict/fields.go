package strict

import (
	"reflect"
	"slices"
	"strings"
)

// field is one field of a struct as documents spell it.
type field struct {
	name     string
	typ      reflect.Type
	required bool
}

// fieldsOf lists the fields of a struct in their order, those of embedded structs included.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "":
			out = append(out, fieldsOf(f.Type)...)
		default:
			optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
			out = append(out, field{name: name, typ: f.Type, required: !optional})
		}
	}
	return out
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range fieldsOf(t) {
		names = append(names, f.name)
	}
	return names
}

// fields corrects the fields of a map that stands for a struct.
func (w *Decoder) fields(t reflect.Type, n *Node, at *Place) *Node {
	known := fieldsOf(t)
	out := &Node{Shape: ShapeMap}
	given := make(map[string]bool)
	for i, key := range n.Keys {
		if w.full() {
			break
		}
		f, ok := w.known(t, known, n, i, at)
		if !ok || n.Values[i].Shape == ShapeNull {
			continue
		}
		given[f.name] = true
		renamed := len(w.Findings) - 1
		fixed, ok := w.value(f.typ, n.Values[i], at.Child(f.name))
		if !ok {
			continue
		}
		out.Set(f.name, fixed)
		if f.name != key {
			w.Findings[renamed].Fix = fixed
		}
	}
	if !w.Loose {
		w.required(known, given, at)
	}
	return out
}

// known finds the field that a key names. A key that is nearly right counts as the field it means,
// unless that field is there too.
func (w *Decoder) known(t reflect.Type, known []field, n *Node, i int, at *Place) (field, bool) {
	key := n.Keys[i]
	if j := slices.IndexFunc(known, func(f field) bool { return f.name == key }); j >= 0 {
		return known[j], true
	}
	if w.Loose {
		return field{}, false
	}
	near := Nearest(key, fieldNames(t))
	if near == "" || n.Get(near) != nil {
		w.Findings = append(w.Findings, Finding{
			At: at.Child(key), Found: "an unknown field", Expected: "one of " + strings.Join(fieldNames(t), ", "), Lost: true, Kind: FaultUnknown,
		})
		return field{}, false
	}
	w.Findings = append(w.Findings, Finding{
		At: at.Child(key), Found: "an unknown field", Expected: near + " (did you mean that?)", Rename: near, Kind: FaultUnknown,
	})
	return known[slices.IndexFunc(known, func(f field) bool { return f.name == near })], true
}

// required records the fields that must be there and are not given.
func (w *Decoder) required(known []field, given map[string]bool, at *Place) {
	for _, f := range known {
		if f.required && !given[f.name] {
			w.Findings = append(w.Findings, Finding{
				At: at.Child(f.name), Found: "nothing", Expected: describe(f.typ), Lost: true, Missing: true,
			})
		}
	}
}

// Nearest returns the name that key was most likely meant to be, or "".
func Nearest(key string, names []string) string {
	best, least := "", 1+max(1, len(key)/4)
	for _, name := range names {
		d := Distance(strings.ToLower(key), strings.ToLower(name))
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// Distance counts the insertions, deletions, replacements and swaps of neighbours between a and b.
func Distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
