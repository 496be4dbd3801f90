package strict

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Kubernetes reads JSON into a pointer to a type of Kubernetes, as encoding/json does. Quantities in such
// types read themselves, without bounds: each is looked at before, and Faults returned for those beyond the
// bounds of amounts.
func Kubernetes(raw []byte, into any) error {
	var tree map[string]any
	if err := kjson.Unmarshal(raw, &tree); err != nil {
		return err
	}
	if err := checkQuantities(tree, into); err != nil {
		return err
	}
	// Not raw: of a key that stands in it twice only one was looked at.
	clean, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return json.Unmarshal(clean, into)
}

// FromUnstructured converts a decoded document into a pointer to a type of Kubernetes, or returns Faults for
// the amounts in it that are beyond their bounds.
func FromUnstructured(tree map[string]any, into any) error {
	if err := checkQuantities(tree, into); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(tree, into)
}

func checkQuantities(tree map[string]any, into any) error {
	return Quantities(reflect.TypeOf(into).Elem(), tree).Faults("").Err()
}

// Quantities finds the amounts beyond their bounds in a decoded document of a type of Kubernetes.
func Quantities(t reflect.Type, tree map[string]any) Findings {
	var f Findings
	f.quantities(quantitiesOf(t), tree, nil)
	return f
}

// quantities looks at every amount in value, which p leads to.
func (fs *Findings) quantities(p *quantityPath, value any, at *Place) {
	if p == nil || len(*fs) >= MaxFindings {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fs.quantities(p.under(key), v[key], at.Child(key))
		}
	case []any:
		for i := range v {
			fs.quantities(p.each, v[i], at.Item(i))
		}
	case string, int64, float64:
		if p.quantity {
			fs.quantity(v, at)
		}
	}
}

// quantity looks at one amount in the form in which resource.Quantity reads it.
func (fs *Findings) quantity(value any, at *Place) {
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	text := strings.TrimSpace(strings.Trim(string(raw), `"`))
	if errors.Is(checkAmount(text), ErrAmountBounds) {
		fs.Add(at, Quote(text), ExpectedAmount(ErrAmountBounds, "a quantity", ""), nil)
	}
}

// quantityPath leads to the quantities of a type; nil where there are none.
type quantityPath struct {
	quantity bool
	each     *quantityPath            // of a list, or of a map
	fields   map[string]*quantityPath // of a struct, by folded name
}

func (p *quantityPath) under(key string) *quantityPath {
	if p.fields == nil {
		return p.each
	}
	return p.fields[fold(key)]
}

// quantityPaths are those of every type that was asked for.
var quantityPaths sync.Map // of reflect.Type to *quantityPath

func quantitiesOf(t reflect.Type) *quantityPath {
	if known, ok := quantityPaths.Load(t); ok {
		return known.(*quantityPath)
	}
	p := findQuantities(t)
	quantityPaths.Store(t, p)
	return p
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func findQuantities(t reflect.Type) *quantityPath {
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		return &quantityPath{quantity: true}
	case t.Kind() == reflect.Pointer:
		return findQuantities(t.Elem())
	case reflect.PointerTo(t).Implements(unmarshaler):
		return nil
	case t.Kind() == reflect.Map, t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		if each := findQuantities(t.Elem()); each != nil {
			return &quantityPath{each: each}
		}
	case t.Kind() == reflect.Struct:
		p := &quantityPath{fields: map[string]*quantityPath{}}
		p.addFields(t)
		if len(p.fields) > 0 {
			return p
		}
	}
	return nil
}

func (p *quantityPath) addFields(t reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			p.addFields(f.Type)
			continue
		case name == "":
			name = f.Name
		}
		if to := findQuantities(f.Type); to != nil {
			p.fields[fold(name)] = to
		}
	}
}

// fold makes one of names that encoding/json takes for the same.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return next
			}
			r = next
		}
	}, name)
}
