package api

import (
	"encoding"
	"math/big"
	"reflect"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// special are types whose JSON form does not follow from their Go kind.
var special map[reflect.Type]func(*walker, *node, *place) (*node, bool)

func init() {
	special = map[reflect.Type]func(*walker, *node, *place) (*node, bool){
		reflect.TypeFor[intstr.IntOrString](): (*walker).intOrString,
		reflect.TypeFor[metav1.Time]():        (*walker).time,
		reflect.TypeFor[metav1.MicroTime]():   (*walker).time,
		reflect.TypeFor[metav1.Duration]():    (*walker).duration,
		reflect.TypeFor[Price]():              (*walker).price,
		reflect.TypeFor[Amount]():             (*walker).amount,
		reflect.TypeFor[CountOrPercent]():     (*walker).count,
		reflect.TypeFor[metav1.FieldsV1]():    func(_ *walker, n *node, _ *place) (*node, bool) { return n, true },
	}
}

// single unwraps a list of one where a scalar is expected.
func single(n *node) bool {
	return n.shape == shapeList && len(n.values) == 1 && len(n.values[0].values) == 0
}

func (w *walker) text(n *node, at *place) (*node, bool) {
	t := reflect.TypeFor[string]()
	switch {
	case n.shape == shapeText:
		return n, true
	case n.shape == shapeBool && !w.loose:
		// A boolean may have been written yes, no, on or off: which of them was meant cannot be told here.
		w.findings.lose(at, n.String(), "a string; words like yes, no, on, off, true and false are strings where they stand in quotes")
		return nil, false
	case n.shape == shapeNumber || n.shape == shapeBool:
		fixed := textNode(n.text)
		if !w.loose {
			w.findings.add(at, n.String(), "a string, "+strconv.Quote(n.text), fixed)
		}
		return fixed, true
	case single(n):
		return w.unwrapped(t, n, at)
	default:
		return w.wrong(t, n, at)
	}
}

func (w *walker) boolean(n *node, at *place) (*node, bool) {
	t := reflect.TypeFor[bool]()
	switch {
	case n.shape == shapeBool:
		return n, true
	case n.shape == shapeText && (n.text == "true" || n.text == "false"):
		fixed := &node{shape: shapeBool, text: n.text}
		w.findings.add(at, n.String(), "true or false, without quotes", fixed)
		return fixed, true
	case single(n):
		return w.unwrapped(t, n, at)
	default:
		return w.wrong(t, n, at)
	}
}

func (w *walker) integer(t reflect.Type, n *node, at *place) (*node, bool) {
	switch {
	case n.shape == shapeNumber || n.shape == shapeText:
		return w.wholeNumber(t.Bits(), n, at)
	case single(n):
		return w.unwrapped(t, n, at)
	default:
		return w.wrong(t, n, at)
	}
}

// wholeNumber reads an integer of so many bits, from a number or from a string that holds one.
func (w *walker) wholeNumber(bits int, n *node, at *place) (*node, bool) {
	value, ok := wholeValue(n.text)
	if !ok {
		w.findings.lose(at, clip(n.String()), "a whole number")
		return nil, false
	}
	if value.BitLen() >= bits {
		limit := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		w.findings.lose(at, n.String(), "a whole number from -"+limit.String()+" to "+limit.Sub(limit, big.NewInt(1)).String())
		return nil, false
	}
	if n.shape == shapeNumber && n.text == value.String() {
		return n, true
	}
	fixed := numberNode(value.Int64())
	expected := "a whole number, " + fixed.text
	if n.shape == shapeText {
		expected += ", without quotes"
	}
	w.findings.add(at, n.String(), expected, fixed)
	return fixed, true
}

func (w *walker) intOrString(n *node, at *place) (*node, bool) {
	switch {
	case n.shape == shapeText:
		return n, true
	case n.shape == shapeNumber:
		return w.wholeNumber(32, n, at)
	case single(n):
		return w.unwrapped(reflect.TypeFor[intstr.IntOrString](), n, at)
	default:
		w.findings.lose(at, n.String(), "a whole number, or a percentage as a string")
		return nil, false
	}
}

func (w *walker) time(n *node, at *place) (*node, bool) {
	const expected = `a time like "2026-11-20T13:00:00Z"`
	if n.shape == shapeNull {
		return n, true
	}
	if n.shape == shapeText {
		if _, err := time.Parse(time.RFC3339, n.text); err == nil {
			return n, true
		}
	}
	w.findings.lose(at, n.String(), expected)
	return nil, false
}

func (w *walker) duration(n *node, at *place) (*node, bool) {
	if n.shape == shapeText {
		if _, err := time.ParseDuration(n.text); err == nil {
			return n, true
		}
	}
	w.findings.lose(at, n.String(), `a duration like "45m" or "1h30m"`)
	return nil, false
}

// unmarshaled checks a string against a type that reads itself from text; the type's error says what
// it expects.
func (w *walker) unmarshaled(t reflect.Type, n *node, at *place) (*node, bool) {
	into, ok := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(t))
	if !ok || len(n.values) > 0 {
		return w.wrong(reflect.TypeFor[string](), n, at)
	}
	if err := into.UnmarshalText([]byte(n.text)); err != nil {
		w.findings.lose(at, n.String(), err.Error())
		return nil, false
	}
	return w.text(n, at)
}
