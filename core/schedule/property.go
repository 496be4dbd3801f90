package schedule

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/verdict"
)

// propertyTest is one expression on one property. Most members are answered by their float64; those
// within a billionth of the wanted quantity are compared exactly.
type propertyTest struct {
	column   *propertyColumn // nil when no member has the property
	below    bool            // what the operator answers for a value below, at and above the wanted one
	equal    bool
	above    bool
	valid    bool // the expression has one quantity and a known operator
	text     string
	wanted   resource.Quantity
	low, top float64 // beyond these the float64 decides
}

// signs are the operators as people read them.
var signs = map[api.PropertyOperator]string{
	api.OpGt: ">", api.OpGe: ">=", api.OpEq: "=", api.OpNe: "!=", api.OpLt: "<", api.OpLe: "<=",
}

func (f *Fleet) propertyTest(e *api.PropertyExpression) (propertyTest, verdict.Want) {
	name := api.CanonicalProperty(e.Name)
	sign, known := signs[e.Operator]
	want := verdict.Want{Kind: verdict.WantProperty, Subject: name, Wanted: sign + " " + strings.Join(e.Values, ", ")}
	t := propertyTest{column: f.property(name)}
	if t.column != nil {
		want.Values = t.column.values
	}
	if !known {
		want.Wanted = "an operator of Gt, Ge, Eq, Ne, Lt, Le instead of " + string(e.Operator)
		return t, want
	}
	if len(e.Values) != 1 {
		want.Wanted += " (exactly one value)"
		return t, want
	}
	q, err := strict.ParseQuantity(e.Values[0])
	if err != nil {
		want.Wanted += ", which is not a quantity"
		return t, want
	}
	t.valid, t.text, t.wanted = true, e.Values[0], q
	t.below = e.Operator == api.OpLt || e.Operator == api.OpLe || e.Operator == api.OpNe
	t.above = e.Operator == api.OpGt || e.Operator == api.OpGe || e.Operator == api.OpNe
	t.equal = e.Operator == api.OpGe || e.Operator == api.OpLe || e.Operator == api.OpEq
	float := q.AsApproximateFloat64()
	margin := math.Abs(float) * 1e-9
	t.low, t.top = float-margin, float+margin
	return t, want
}

func (t *propertyTest) passes(row int) bool {
	if t.column == nil || !t.valid {
		return false
	}
	f := t.column.floats[row]
	switch {
	case f < t.low:
		return t.below
	case f > t.top:
		return t.above
	}
	return t.passesClosely(row, f)
}

// passesClosely compares where float64 cannot: near the wanted value, and where there is none.
func (t *propertyTest) passesClosely(row int, f float64) bool {
	if math.IsNaN(f) {
		return false
	}
	text := t.column.values[t.column.ids[row]]
	if text == t.text {
		return t.equal
	}
	observed, err := strict.ParseQuantity(text)
	return err == nil && t.answer(observed.Cmp(t.wanted))
}

func (t *propertyTest) answer(order int) bool {
	switch {
	case order < 0:
		return t.below
	case order > 0:
		return t.above
	}
	return t.equal
}

// observe returns the number of the value that the member reports, 0 for none, negative for one that
// is not a quantity.
func (t *propertyTest) observe(row int) int32 {
	if t.column == nil {
		return 0
	}
	id := int32(t.column.ids[row])
	if math.IsNaN(t.column.floats[row]) {
		return -id
	}
	return id
}
