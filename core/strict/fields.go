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
