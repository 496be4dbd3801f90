package api

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// finding is a fault while the document can still be shown corrected: the fix is a node, rendered
// once everything inside it is corrected too.
type finding struct {
	at       *place
	found    string
	expected string
	fix      *node
	// rename is the correct key of the field at at, when its name is what is wrong.
	rename string
	// lost says that nothing at or below the path could be read, so that no rule can be asked there.
	lost bool
	// missing says that a required field is absent; a rule that says more about it replaces this.
	missing bool
	// kind is that of the fault; a rule leaves it to what was found and expected.
	kind FaultKind
}

// sort is the kind of fault that the finding is.
func (f *finding) sort() FaultKind {
	switch {
	case f.kind != "":
		return f.kind
	case f.found == nothing:
		return FaultMissing
	case f.expected == nothing || strings.HasPrefix(f.expected, nothing+" ") || strings.HasPrefix(f.expected, nothing+":") || strings.HasPrefix(f.expected, nothing+","):
		return FaultMisplaced
	}
	return FaultValue
}

// fault renders the finding.
func (f *finding) fault(object string) Fault {
	out := Fault{Kind: f.sort(), Object: object, Path: f.at.String(), Found: f.found, Expected: f.expected}
	if f.fix != nil {
		key := ""
		if f.at != nil {
			key = f.at.name
		}
		if f.rename != "" {
			key = f.rename
		}
		out.Fix = f.fix.fieldYAML(key)
	}
	return out
}

// maxFindings is after how many findings a document is read no further: a million faults would not be
// read by anybody, and would not fit into a reply.
const maxFindings = 200

// findings are every fault of one document, in the order in which they were met.
type findings []finding

func (fs *findings) add(at *place, found, expected string, fix *node) {
	*fs = append(*fs, finding{at: at, found: found, expected: expected, fix: fix})
}

func (fs *findings) lose(at *place, found, expected string) {
	*fs = append(*fs, finding{at: at, found: found, expected: expected, lost: true})
}

// typed marks what a comparison with a type found, where it said nothing more precise.
func (fs findings) typed() {
	for i := range fs {
		if f := &fs[i]; f.kind == "" && !f.missing {
			f.kind = FaultType
		}
	}
}

// faults renders the findings, with a word about those beyond the limit.
func (fs findings) faults(object string) Faults {
	var out Faults
	for i := range fs[:min(len(fs), maxFindings)] {
		out = append(out, fs[i].fault(object))
	}
	if len(fs) >= maxFindings {
		out = append(out, Fault{Object: object, Found: "more faults than are listed", Expected: "a document with fewer; mend these first"})
	}
	return out
}

// Strict decodes one JSON document into a pointer to a struct by the struct's json tags, and returns
// everything that does not fit: unknown and duplicate fields, wrong types, numbers out of range. Where
// the meaning is obvious (a lone map for a list, a number for a string) the fault carries the
// corrected form and decoding goes on with it. A field whose tag has no omitempty and no omitzero is
// required. What could be read is in into, faults or not.
func Strict(raw []byte, into any) Faults {
	tree, dups, err := readTree(raw)
	if err != nil {
		return Faults{syntaxFault(err)}
	}
	w := walker{findings: dups}
	w.decode(tree, into, nil)
	return w.findings.faults("")
}

func syntaxFault(err error) Fault {
	return Fault{Kind: FaultSyntax, Found: "text that is not JSON: " + err.Error(), Expected: "one JSON object"}
}

// walker compares a document with a Go type, correcting the document as it goes.
type walker struct {
	findings findings
	// loose accepts unknown and absent fields and numbers for strings: for status, which other
	// systems write and nobody acts on but offline plans.
	loose bool
}

// decode corrects tree to fit into, unmarshals it, and returns it corrected.
func (w *walker) decode(tree *node, into any, at *place) *node {
	t := reflect.TypeOf(into).Elem()
	before := len(w.findings)
	fixed, ok := w.value(t, tree, at)
	w.findings[before:].typed()
	if !ok {
		return tree
	}
	if err := json.Unmarshal(fixed.appendJSON(nil), into); err != nil {
		w.findings.lose(at, "a value that cannot be read: "+err.Error(), describe(t))
	}
	return fixed
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// value returns n corrected to fit t; false when it cannot be.
func (w *walker) value(t reflect.Type, n *node, at *place) (*node, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if read, ok := special[t]; ok {
		return read(w, n, at)
	}
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return w.unmarshaled(t, n, at)
	}
	switch t.Kind() {
	case reflect.Struct:
		return w.structure(t, n, at)
	case reflect.Map:
		return w.dictionary(t, n, at)
	case reflect.Slice:
		return w.slice(t, n, at)
	case reflect.String:
		return w.text(n, at)
	case reflect.Bool:
		return w.boolean(n, at)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return w.integer(t, n, at)
	default:
		panic(fmt.Sprintf("core/api: a document type has a field of kind %s at %s", t.Kind(), at))
	}
}

// full reports that enough was found to stop.
func (w *walker) full() bool { return len(w.findings) >= maxFindings }

// wrong records a value of another shape that cannot be corrected.
func (w *walker) wrong(t reflect.Type, n *node, at *place) (*node, bool) {
	w.findings.lose(at, n.String(), describe(t))
	return nil, false
}

// unwrapped corrects a list of one item where the item itself is expected.
func (w *walker) unwrapped(t reflect.Type, n *node, at *place) (*node, bool) {
	i := len(w.findings)
	w.findings.add(at, n.String(), describe(t)+", not a list", nil)
	fixed, ok := w.value(t, n.values[0], at)
	if !ok {
		w.findings = append(w.findings[:i], w.findings[i+1:]...)
		return nil, false
	}
	w.findings[i].fix = fixed
	return fixed, true
}

func (w *walker) structure(t reflect.Type, n *node, at *place) (*node, bool) {
	switch {
	case n.shape == shapeMap:
		return w.fields(t, n, at), true
	case n.shape == shapeList && len(n.values) == 1 && n.values[0].shape == shapeMap:
		return w.unwrapped(t, n, at)
	default:
		return w.wrong(t, n, at)
	}
}

func (w *walker) dictionary(t reflect.Type, n *node, at *place) (*node, bool) {
	switch {
	case n.shape == shapeList && len(n.values) == 1 && n.values[0].shape == shapeMap:
		return w.unwrapped(t, n, at)
	case n.shape != shapeMap:
		return w.wrong(t, n, at)
	}
	out := &node{shape: shapeMap}
	for i, key := range n.keys {
		if w.full() {
			break
		}
		if fixed, ok := w.value(t.Elem(), n.values[i], at.child(key)); ok {
			out.keys = append(out.keys, key)
			out.values = append(out.values, fixed)
		}
	}
	return out, true
}

func (w *walker) slice(t reflect.Type, n *node, at *place) (*node, bool) {
	if n.shape != shapeList {
		return w.wrapped(t, n, at)
	}
	out := &node{shape: shapeList}
	for i, item := range n.values {
		if w.full() {
			break
		}
		fixed, ok := w.value(t.Elem(), item, at.item(i))
		if !ok {
			fixed = placeholder(t.Elem())
		}
		out.values = append(out.values, fixed)
	}
	return out, true
}

// wrapped corrects a lone item where a list of such items is expected.
func (w *walker) wrapped(t reflect.Type, n *node, at *place) (*node, bool) {
	wantMap := placeholder(t.Elem()).shape == shapeMap
	if n.shape == shapeNull || wantMap != (n.shape == shapeMap) {
		return w.wrong(t, n, at)
	}
	i := len(w.findings)
	w.findings.add(at, n.String(), describe(t), nil)
	fixed, _ := w.slice(t, &node{shape: shapeList, values: []*node{n}}, at)
	w.findings[i].fix = fixed
	return fixed, true
}

// placeholder stands for a list item that could not be read, so that the items after it keep their
// numbers.
func placeholder(t reflect.Type) *node {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return &node{shape: shapeMap}
	case reflect.Slice:
		return &node{shape: shapeList}
	case reflect.Bool:
		return &node{shape: shapeBool, text: "false"}
	case reflect.String:
		return textNode("")
	default:
		return numberNode(0)
	}
}

// describe says in words what a type accepts.
func describe(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return "a map with " + strings.Join(fieldNames(t), ", ")
	case reflect.Map:
		return "a map of strings"
	case reflect.Slice:
		return "a list, each item " + describe(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	default:
		return "a whole number"
	}
}
