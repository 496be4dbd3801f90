package strict

import (
	"encoding"
	"math/big"
	"reflect"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// special are types whose JSON form does not follow from their Go kind.
var special map[reflect.Type]func(*Decoder, *Node, *Place) (*Node, bool)

func init() {
	special = map[reflect.Type]func(*Decoder, *Node, *Place) (*Node, bool){
		reflect.TypeFor[intstr.IntOrString]():   (*Decoder).intOrString,
		reflect.TypeFor[metav1.Time]():          (*Decoder).time,
		reflect.TypeFor[metav1.MicroTime]():     (*Decoder).time,
		reflect.TypeFor[metav1.Duration]():      (*Decoder).duration,
		reflect.TypeFor[Price]():                (*Decoder).price,
		reflect.TypeFor[Decimal]():              (*Decoder).decimal,
		reflect.TypeFor[Amount]():               (*Decoder).amount,
		reflect.TypeFor[CountOrPercent]():       (*Decoder).count,
		reflect.TypeFor[metav1.FieldsV1]():      asItIs,
		reflect.TypeFor[runtime.RawExtension](): asItIs,
	}
}

// asItIs takes whatever stands there.
func asItIs(_ *Decoder, n *Node, _ *Place) (*Node, bool) { return n, true }

// single unwraps a list of one where a scalar is expected.
func single(n *Node) bool {
	return n.Shape == ShapeList && len(n.Values) == 1 && len(n.Values[0].Values) == 0
}

func (w *Decoder) text(n *Node, at *Place) (*Node, bool) {
	t := reflect.TypeFor[string]()
	switch {
	case n.Shape == ShapeText:
		return n, true
	case n.Shape == ShapeBool && !w.Loose:
		// A boolean may have been written yes, no, on or off: which of them was meant cannot be told here.
		w.Findings.Lose(at, n.String(), "a string; words like yes, no, on, off, true and false are strings where they stand in quotes")
		return nil, false
	case n.Shape == ShapeNumber || n.Shape == ShapeBool:
		fixed := TextNode(n.Text)
		if !w.Loose {
			w.Findings.Add(at, n.String(), "a string, "+strconv.Quote(n.Text), fixed)
		}
		return fixed, true
	case single(n):
		return w.unwrapped(t, n, at)
	default:
		return w.wrong(t, n, at)
	}
}

func (w *Decoder) boolean(n *Node, at *Place) (*Node, bool) {
	t := reflect.TypeFor[bool]()
	switch {
	case n.Shape == ShapeBool:
		return n, true
	case n.Shape == ShapeText && (n.Text == "true" || n.Text == "false"):
		fixed := &Node{Shape: ShapeBool, Text: n.Text}
		w.Findings.Add(at, n.String(), "true or false, without quotes", fixed)
		return fixed, true
	case single(n):
		return w.unwrapped(t, n, at)
	default:
		return w.wrong(t, n, at)
	}
}

func (w *Decoder) integer(t reflect.Type, n *Node, at *Place) (*Node, bool) {
	switch {
	case n.Shape == ShapeNumber || n.Shape == ShapeText:
		return w.wholeNumber(t.Bits(), n, at)
	case single(n):
		return w.unwrapped(t, n, at)
	default:
		return w.wrong(t, n, at)
	}
}

// wholeNumber reads an integer of so many bits, from a number or from a string that holds one.
func (w *Decoder) wholeNumber(bits int, n *Node, at *Place) (*Node, bool) {
	value, ok := WholeValue(n.Text)
	if !ok {
		w.Findings.Lose(at, clip(n.String()), "a whole number")
		return nil, false
	}
	if value.BitLen() >= bits {
		limit := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		w.Findings.Lose(at, n.String(), "a whole number from -"+limit.String()+" to "+limit.Sub(limit, big.NewInt(1)).String())
		return nil, false
	}
	if n.Shape == ShapeNumber && n.Text == value.String() {
		return n, true
	}
	fixed := NumberNode(value.Int64())
	expected := "a whole number, " + fixed.Text
	if n.Shape == ShapeText {
		expected += ", without quotes"
	}
	w.Findings.Add(at, n.String(), expected, fixed)
	return fixed, true
}

// What is expected where values of these types are to be.
const (
	expectedIntOrString = "a whole number, or a percentage as a string"
	expectedDuration    = `a duration like "45m" or "1h30m"`
)

func (w *Decoder) intOrString(n *Node, at *Place) (*Node, bool) {
	switch {
	case n.Shape == ShapeText:
		return n, true
	case n.Shape == ShapeNumber:
		return w.wholeNumber(32, n, at)
	case single(n):
		return w.unwrapped(reflect.TypeFor[intstr.IntOrString](), n, at)
	default:
		w.Findings.Lose(at, n.String(), expectedIntOrString)
		return nil, false
	}
}

func (w *Decoder) time(n *Node, at *Place) (*Node, bool) {
	const expected = `a time like "2026-11-20T13:00:00Z"`
	if n.Shape == ShapeNull {
		return n, true
	}
	if n.Shape == ShapeText {
		if _, err := time.Parse(time.RFC3339, n.Text); err == nil {
			return n, true
		}
	}
	w.Findings.Lose(at, n.String(), expected)
	return nil, false
}

func (w *Decoder) duration(n *Node, at *Place) (*Node, bool) {
	if n.Shape == ShapeText {
		if _, err := time.ParseDuration(n.Text); err == nil {
			return n, true
		}
	}
	w.Findings.Lose(at, n.String(), expectedDuration)
	return nil, false
}

// unmarshaled checks a string against a type that reads itself from text; the type's error says what
// it expects.
func (w *Decoder) unmarshaled(t reflect.Type, n *Node, at *Place) (*Node, bool) {
	into, ok := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(t))
	if !ok || len(n.Values) > 0 {
		return w.wrong(reflect.TypeFor[string](), n, at)
	}
	if err := into.UnmarshalText([]byte(n.Text)); err != nil {
		w.Findings.Lose(at, n.String(), err.Error())
		return nil, false
	}
	return w.text(n, at)
}
