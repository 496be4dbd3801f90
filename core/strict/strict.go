package strict

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Finding is a fault while the document can still be shown corrected: the fix is a node, rendered
// once everything inside it is corrected too.
type Finding struct {
	At       *Place
	Found    string
	Expected string
	Fix      *Node
	// Rename is the correct key of the field at at, when its name is what is wrong.
	Rename string
	// Lost says that nothing at or below the path could be read, so that no rule can be asked there.
	Lost bool
	// Missing says that a required field is absent; a rule that says more about it replaces this.
	Missing bool
	// Kind is that of the fault; a rule leaves it to what was found and expected.
	Kind FaultKind
}

// sort is the kind of fault that the finding is.
func (f *Finding) sort() FaultKind {
	switch {
	case f.Kind != "":
		return f.Kind
	case f.Found == nothing:
		return FaultMissing
	case f.Expected == nothing || strings.HasPrefix(f.Expected, nothing+" ") || strings.HasPrefix(f.Expected, nothing+":") || strings.HasPrefix(f.Expected, nothing+","):
		return FaultMisplaced
	}
	return FaultValue
}

// fault renders the finding.
func (f *Finding) fault(object string) Fault {
	out := Fault{Kind: f.sort(), Object: object, Path: f.At.String(), Found: f.Found, Expected: f.Expected}
	if f.Fix != nil {
		key := ""
		if f.At != nil {
			key = f.At.name
		}
		if f.Rename != "" {
			key = f.Rename
		}
		out.Fix = f.Fix.fieldYAML(key)
	}
	return out
}

// MaxFindings is after how many findings a document is read no further: a million faults would not be
// read by anybody, and would not fit into a reply.
const MaxFindings = 200

// Findings are every fault of one document, in the order in which they were met.
type Findings []Finding

// Add says what is wrong at a place; fix is what should stand there, nil where nobody can tell.
func (fs *Findings) Add(at *Place, found, expected string, fix *Node) {
	*fs = append(*fs, Finding{At: at, Found: found, Expected: expected, Fix: fix})
}

// Lose says that nothing at or below a place could be read.
func (fs *Findings) Lose(at *Place, found, expected string) {
	*fs = append(*fs, Finding{At: at, Found: found, Expected: expected, Lost: true})
}

// typed marks what a comparison with a type found, where it said nothing more precise.
func (fs Findings) typed() {
	for i := range fs {
		if f := &fs[i]; f.Kind == "" && !f.Missing {
			f.Kind = FaultType
		}
	}
}

// Faults renders the findings, with a word about those beyond the limit.
func (fs Findings) Faults(object string) Faults {
	var out Faults
	for i := range fs[:min(len(fs), MaxFindings)] {
		out = append(out, fs[i].fault(object))
	}
	if len(fs) >= MaxFindings {
		out = append(out, Fault{Object: object, Found: "more faults than are listed", Expected: "a document with fewer; mend these first"})
	}
	return out
}

// Decode decodes one JSON document into a pointer to a struct by the struct's json tags, and returns
// everything that does not fit: unknown and duplicate fields, wrong types, numbers out of range. Where
// the meaning is obvious (a lone map for a list, a number for a string) the fault carries the
// corrected form and decoding goes on with it. A field whose tag has no omitempty and no omitzero is
// required. What could be read is in into, faults or not.
func Decode(raw []byte, into any) Faults {
	tree, dups, err := Parse(raw)
	if err != nil {
		return Faults{SyntaxFault(err)}
	}
	w := Decoder{Findings: dups}
	w.Decode(tree, into, nil)
	return w.Findings.Faults("")
}

// SyntaxFault is the fault of a text that is no JSON.
func SyntaxFault(err error) Fault {
	return Fault{Kind: FaultSyntax, Found: "text that is not JSON: " + err.Error(), Expected: "one JSON object"}
}

// Decoder compares a document with a Go type, correcting the document as it goes.
type Decoder struct {
	Findings Findings
	// Loose accepts unknown and absent fields and numbers for strings: for status, which other
	// systems write and nobody acts on but offline plans.
	Loose bool
}

// Decode corrects tree to fit into, unmarshals it, and returns it corrected.
func (w *Decoder) Decode(tree *Node, into any, at *Place) *Node {
	t := reflect.TypeOf(into).Elem()
	before := len(w.Findings)
	fixed, ok := w.value(t, tree, at)
	w.Findings[before:].typed()
	if !ok {
		return tree
	}
	if err := json.Unmarshal(fixed.AppendJSON(nil), into); err != nil {
		w.Findings.Lose(at, "a value that cannot be read: "+err.Error(), describe(t))
	}
	return fixed
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// value returns n corrected to fit t; false when it cannot be.
func (w *Decoder) value(t reflect.Type, n *Node, at *Place) (*Node, bool) {
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
		panic(fmt.Sprintf("core/strict: a document type has a field of kind %s at %s", t.Kind(), at))
	}
}

// full reports that enough was found to stop.
func (w *Decoder) full() bool { return len(w.Findings) >= MaxFindings }

// wrong records a value of another shape that cannot be corrected.
func (w *Decoder) wrong(t reflect.Type, n *Node, at *Place) (*Node, bool) {
	w.Findings.Lose(at, n.String(), describe(t))
	return nil, false
}

// unwrapped corrects a list of one item where the item itself is expected.
func (w *Decoder) unwrapped(t reflect.Type, n *Node, at *Place) (*Node, bool) {
	i := len(w.Findings)
	w.Findings.Add(at, n.String(), describe(t)+", not a list", nil)
	fixed, ok := w.value(t, n.Values[0], at)
	if !ok {
		w.Findings = append(w.Findings[:i], w.Findings[i+1:]...)
		return nil, false
	}
	w.Findings[i].Fix = fixed
	return fixed, true
}

func (w *Decoder) structure(t reflect.Type, n *Node, at *Place) (*Node, bool) {
	switch {
	case n.Shape == ShapeMap:
		return w.fields(t, n, at), true
	case n.Shape == ShapeList && len(n.Values) == 1 && n.Values[0].Shape == ShapeMap:
		return w.unwrapped(t, n, at)
	default:
		return w.wrong(t, n, at)
	}
}

func (w *Decoder) dictionary(t reflect.Type, n *Node, at *Place) (*Node, bool) {
	switch {
	case n.Shape == ShapeList && len(n.Values) == 1 && n.Values[0].Shape == ShapeMap:
		return w.unwrapped(t, n, at)
	case n.Shape != ShapeMap:
		return w.wrong(t, n, at)
	}
	out := &Node{Shape: ShapeMap}
	for i, key := range n.Keys {
		if w.full() {
			break
		}
		if fixed, ok := w.value(t.Elem(), n.Values[i], at.Child(key)); ok {
			out.Keys = append(out.Keys, key)
			out.Values = append(out.Values, fixed)
		}
	}
	return out, true
}

func (w *Decoder) slice(t reflect.Type, n *Node, at *Place) (*Node, bool) {
	if n.Shape != ShapeList {
		return w.wrapped(t, n, at)
	}
	out := &Node{Shape: ShapeList}
	for i, item := range n.Values {
		if w.full() {
			break
		}
		fixed, ok := w.value(t.Elem(), item, at.Item(i))
		if !ok {
			fixed = placeholder(t.Elem())
		}
		out.Values = append(out.Values, fixed)
	}
	return out, true
}

// wrapped corrects a lone item where a list of such items is expected.
func (w *Decoder) wrapped(t reflect.Type, n *Node, at *Place) (*Node, bool) {
	wantMap := placeholder(t.Elem()).Shape == ShapeMap
	if n.Shape == ShapeNull || wantMap != (n.Shape == ShapeMap) {
		return w.wrong(t, n, at)
	}
	i := len(w.Findings)
	w.Findings.Add(at, n.String(), describe(t), nil)
	fixed, _ := w.slice(t, &Node{Shape: ShapeList, Values: []*Node{n}}, at)
	w.Findings[i].Fix = fixed
	return fixed, true
}

// placeholder stands for a list item that could not be read, so that the items after it keep their
// numbers.
func placeholder(t reflect.Type) *Node {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return &Node{Shape: ShapeMap}
	case reflect.Slice:
		return &Node{Shape: ShapeList}
	case reflect.Bool:
		return &Node{Shape: ShapeBool, Text: "false"}
	case reflect.String:
		return TextNode("")
	default:
		return NumberNode(0)
	}
}

// describe says in words what a type accepts.
func describe(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[intstr.IntOrString]():
		return expectedIntOrString
	case reflect.TypeFor[metav1.Duration]():
		return expectedDuration
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
