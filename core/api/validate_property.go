package api

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	propertyOperators = []string{string(OpGt), string(OpGe), string(OpEq), string(OpNe), string(OpLt), string(OpLe)}
	capacityTypes     = []string{"total", "allocatable", "available"}
)

// propertyName checks the name of a property: resources.kubernetes-fleet.io/CAPACITY-RESOURCE, or
// names separated by slashes after an optional DNS prefix.
func (fs rules) propertyName(name string, at *place) {
	if name == "" {
		fs.add(at, "nothing", "the name of a property", nil)
		return
	}
	if rest, ok := strings.CutPrefix(name, PropertyResourcePrefix); ok {
		capacity, of, _ := strings.Cut(rest, "-")
		if !slices.Contains(capacityTypes, capacity) || len(validation.IsQualifiedName(of)) > 0 {
			fs.add(at, quote(name), PropertyResourcePrefix+"<total|allocatable|available>-<resource>, like "+PropertyResourcePrefix+"available-cpu", nil)
		}
		return
	}
	segments := strings.Split(name, "/")
	if len(segments) > 1 && len(validation.IsDNS1123Subdomain(segments[0])) == 0 {
		segments = segments[1:]
	}
	for _, segment := range segments {
		if strings.Contains(segment, "/") || len(validation.IsQualifiedName(segment)) > 0 {
			fs.add(at, quote(name), "names of at most 63 letters, digits, '-', '_' and '.', separated by slashes, optionally after a DNS prefix", nil)
			return
		}
	}
}

// expressions checks each expression of a property selector, and that all of them can be true at
// once.
func (fs rules) expressions(all []PropertyExpression, at *place) {
	bounds := make(map[string]*interval)
	for i := range all {
		e, at := &all[i], at.item(i)
		value, ok := fs.expression(e, at)
		if !ok {
			continue
		}
		name := CanonicalProperty(e.Name)
		if bounds[name] == nil {
			bounds[name] = &interval{}
		}
		if why := bounds[name].narrow(e.Operator, value); why != "" {
			fs.add(at, fmt.Sprintf("%s %s %s", e.Name, e.Operator, e.Values[0]), "an expression that can be true together with "+why, nil)
		}
	}
}

// expression checks one expression and returns its quantity.
func (fs rules) expression(e *PropertyExpression, at *place) (resource.Quantity, bool) {
	before := len(*fs.findings)
	fs.propertyName(e.Name, at.child("name"))
	if e.Operator == "" {
		fs.add(at.child("operator"), "nothing", oneOf(propertyOperators), nil)
	}
	fs.choice(string(e.Operator), at.child("operator"), propertyOperators...)
	if len(e.Values) != 1 {
		found := listOf(len(e.Values))
		if len(e.Values) == 0 {
			found = "nothing"
		}
		fs.add(at.child("values"), found, "exactly one value", nil)
		return resource.Quantity{}, false
	}
	value, err := ParseQuantity(e.Values[0])
	if err != nil {
		fs.add(at.child("values").item(0), quote(e.Values[0]), expectedAmount(err, "a quantity", `"5", "1.5", "100m" or "2Gi"`), nil)
	}
	return value, len(*fs.findings) == before
}

// bound is one side of an interval.
type bound struct {
	value  resource.Quantity
	strict bool
	set    bool
	text   string
}

// interval is what the expressions on one property leave of its values.
type interval struct {
	low, high, equal bound
	not              []bound
}

// narrow adds one expression; it returns the earlier expression that contradicts it, or "".
func (v *interval) narrow(op PropertyOperator, q resource.Quantity) string {
	b := bound{value: q, set: true, text: string(op) + " " + q.String(), strict: op == OpGt || op == OpLt}
	switch op {
	case OpNe:
		v.not = append(v.not, b)
	case OpEq:
		if v.equal.set && v.equal.value.Cmp(q) != 0 {
			return v.equal.text
		}
		v.equal = b
	case OpGt, OpGe:
		if tighter(b, v.low, 1) {
			v.low = b
		}
	default:
		if tighter(b, v.high, -1) {
			v.high = b
		}
	}
	return v.against(b)
}

// tighter reports whether bound b leaves less than bound old; sign is 1 for lower bounds.
func tighter(b, old bound, sign int) bool {
	if !old.set {
		return true
	}
	c := b.value.Cmp(old.value) * sign
	return c > 0 || c == 0 && b.strict
}

// against returns the text of an expression that cannot be true together with b.
func (v *interval) against(b bound) string {
	if v.equal.set {
		for _, n := range v.not {
			if n.value.Cmp(v.equal.value) == 0 {
				return other(b, v.equal, n)
			}
		}
		if empty(v.low, v.equal) {
			return other(b, v.equal, v.low)
		}
		if empty(v.equal, v.high) {
			return other(b, v.equal, v.high)
		}
	}
	if empty(v.low, v.high) {
		return other(b, v.low, v.high)
	}
	return ""
}

// empty reports whether nothing lies from low to high.
func empty(low, high bound) bool {
	if !low.set || !high.set {
		return false
	}
	c := low.value.Cmp(high.value)
	return c > 0 || c == 0 && (low.strict || high.strict)
}

// other returns the text of the one of two bounds that is not b.
func other(b, x, y bound) string {
	if x.text == b.text {
		return y.text
	}
	return x.text
}
