package api

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Amount is a Kubernetes quantity, written as a string or as a number.
type Amount string

// UnmarshalJSON reads a string or a number and keeps its digits.
func (a *Amount) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(a))
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("reading a quantity: %w", err)
	}
	*a = Amount(n)
	return nil
}

// CountOrPercent is a count of members or a percentage of them, "3" or "25%"; a count is also written as a number.
type CountOrPercent string

// UnmarshalJSON reads a string or a number and keeps its digits.
func (c *CountOrPercent) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("reading a count: %w", err)
	}
	*c = CountOrPercent(n)
	return nil
}

// Price is an amount of money per hour, written as a number or as a string that holds one.
type Price float64

// UnmarshalJSON reads a number, quoted or not.
func (p *Price) UnmarshalJSON(raw []byte) error {
	if len(raw) > 1 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	f, err := ParseDecimal(string(raw))
	if err != nil || f < 0 {
		return fmt.Errorf("%s is no price per hour", clip(string(raw)))
	}
	*p = Price(f)
	return nil
}

func (w *walker) count(n *node, at *place) (*node, bool) {
	if n.shape == shapeNumber {
		return textNode(n.text), true
	}
	return w.text(n, at)
}

func (w *walker) price(n *node, at *place) (*node, bool) {
	err := errNoDecimal
	if n.shape == shapeNumber || n.shape == shapeText {
		var f float64
		if f, err = ParseDecimal(n.text); err == nil && f >= 0 {
			return n, true
		}
	}
	w.findings.lose(at, clip(n.String()), expectedAmount(err, "a price per hour", "0.096"))
	return nil, false
}

func (w *walker) amount(n *node, at *place) (*node, bool) {
	err := errNoQuantity
	if n.shape == shapeNumber || n.shape == shapeText {
		var q resource.Quantity
		if q, err = ParseQuantity(n.text); err == nil && q.Sign() >= 0 {
			return n, true
		}
	}
	w.findings.lose(at, clip(n.String()), expectedAmount(err, "a quantity", `"500m", 4 or "16Gi"`))
	return nil, false
}
