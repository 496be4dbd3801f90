package strict

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

// Decimal is a number within the bounds of quantities, written as a number or as a string that holds one.
type Decimal float64

// UnmarshalJSON reads a number, quoted or not.
func (d *Decimal) UnmarshalJSON(raw []byte) error {
	if len(raw) > 1 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	f, err := ParseDecimal(string(raw))
	if err != nil {
		return fmt.Errorf("%s is no number", clip(string(raw)))
	}
	*d = Decimal(f)
	return nil
}

func (w *Decoder) decimal(n *Node, at *Place) (*Node, bool) {
	err := ErrNoDecimal
	if n.Shape == ShapeNumber || n.Shape == ShapeText {
		if _, err = ParseDecimal(n.Text); err == nil {
			return n, true
		}
	}
	w.Findings.Lose(at, clip(n.String()), ExpectedAmount(err, "a number", "0.5"))
	return nil, false
}

func (w *Decoder) count(n *Node, at *Place) (*Node, bool) {
	if n.Shape == ShapeNumber {
		return TextNode(n.Text), true
	}
	return w.text(n, at)
}

func (w *Decoder) price(n *Node, at *Place) (*Node, bool) {
	err := ErrNoDecimal
	if n.Shape == ShapeNumber || n.Shape == ShapeText {
		var f float64
		if f, err = ParseDecimal(n.Text); err == nil && f >= 0 {
			return n, true
		}
	}
	w.Findings.Lose(at, clip(n.String()), ExpectedAmount(err, "a price per hour", "0.096"))
	return nil, false
}

func (w *Decoder) amount(n *Node, at *Place) (*Node, bool) {
	err := ErrNoQuantity
	if n.Shape == ShapeNumber || n.Shape == ShapeText {
		var q resource.Quantity
		if q, err = ParseQuantity(n.Text); err == nil && q.Sign() >= 0 {
			return n, true
		}
	}
	w.Findings.Lose(at, clip(n.String()), ExpectedAmount(err, "a quantity", `"500m", 4 or "16Gi"`))
	return nil, false
}
