package validate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"flotilla/core/api"
	"flotilla/core/strict"
)

var (
	propertyOperators = []string{string(api.OpGt), string(api.OpGe), string(api.OpEq), string(api.OpNe), string(api.OpLt), string(api.OpLe)}
	capacityTypes     = []string{"total", "allocatable", "available"}
)

// propertyName checks the name of a property: resources.kubernetes-fleet.io/CAPACITY-RESOURCE, or
// names separated by slashes after an optional DNS prefix.
func (fs rules) propertyName(name string, at *strict.Place) {
	if name == "" {
		fs.Add(at, "nothing", "the name of a property", nil)
		return
	}
	if rest, ok := strings.CutPrefix(name, api.PropertyResourcePrefix); ok {
		capacity, of, _ := strings.Cut(rest, "-")
		if !slices.Contains(capacityTypes, capacity) || len(validation.IsQualifiedName(of)) > 0 {
			fs.Add(at, strict.Quote(name), api.PropertyResourcePrefix+"<total|allocatable|available>-<resource>, like "+api.PropertyResourcePrefix+"available-cpu", nil)
		}
		return
	}
	segments := strings.Split(name, "/")
	if len(segments) > 1 && len(validation.IsDNS1123Subdomain(segments[0])) == 0 {
		segments = segments[1:]
	}
	for _, segment := range segments {
		if strings.Contains(segment, "/") || len(validation.IsQualifiedName(segment)) > 0 {
			fs.Add(at, strict.Quote(name), "names of at most 63 letters, digits, '-', '_' and '.', separated by slashes, optionally after a DNS prefix", nil)
			return
		}
	}
}

// expressions checks each expression of a property selector, and that all of them can be true at
// once.
func (fs rules) expressions(all []api.PropertyExpression, at *strict.Place) {
	if len(all) > maxExpressions {
		fs.Add(at, listOf(len(all)), fmt.Sprintf("at most %d expressions", maxExpressions), nil)
		return
	}
	bounds := make(map[string]*interval)
	for i := range all {
		e, at := &all[i], at.Item(i)
		value, ok := fs.expression(e, at)
		if !ok {
			continue
		}
		name := api.CanonicalProperty(e.Name)
		if bounds[name] == nil {
			bounds[name] = &interval{}
		}
		if why := bounds[name].narrow(e.Operator, value); why != "" {
			fs.Add(at, fmt.Sprintf("%s %s %s", e.Name, e.Operator, e.Values[0]), "an expression that can be true together with "+why, nil)
		}
	}
}

// expression checks one expression and returns its quantity.
func (fs rules) expression(e *api.PropertyExpression, at *strict.Place) (resource.Quantity, bool) {
	before := len(*fs.Findings)
	fs.propertyName(e.Name, at.Child("name"))
	if e.Operator == "" {
		fs.Add(at.Child("operator"), "nothing", oneOf(propertyOperators), nil)
	}
	fs.choice(string(e.Operator), at.Child("operator"), propertyOperators...)
	if len(e.Values) != 1 {
		found := listOf(len(e.Values))
		if len(e.Values) == 0 {
			found = "nothing"
		}
		fs.Add(at.Child("values"), found, "exactly one value", nil)
		return resource.Quantity{}, false
	}
	value, err := strict.ParseQuantity(e.Values[0])
	if err != nil {
		fs.Add(at.Child("values").Item(0), strict.Quote(e.Values[0]), strict.ExpectedAmount(err, "a quantity", `"5", "1.5", "100m" or "2Gi"`), nil)
	}
	return value, len(*fs.Findings) == before
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
func (v *interval) narrow(op api.PropertyOperator, q resource.Quantity) string {
	b := bound{value: q, set: true, text: string(op) + " " + q.String(), strict: op == api.OpGt || op == api.OpLt}
	switch op {
	case api.OpNe:
		v.not = append(v.not, b)
	case api.OpEq:
		if v.equal.set && v.equal.value.Cmp(q) != 0 {
			return v.equal.text
		}
		v.equal = b
	case api.OpGt, api.OpGe:
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
