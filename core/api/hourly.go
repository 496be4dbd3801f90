package api

import (
	"encoding/json"
	"fmt"
)

// Hourly is an amount of money per hour that may not be known: null in JSON then.
type Hourly struct {
	// Amount counts what is not known as 0, as decisions do.
	Amount  float64
	Unknown bool
}

// Plus is the sum of two amounts, not known when either is not.
func (h Hourly) Plus(o Hourly) Hourly {
	return Hourly{Amount: h.Amount + o.Amount, Unknown: h.Unknown || o.Unknown}
}

// String is the number of a table cell.
func (h Hourly) String() string {
	if h.Unknown {
		return "unknown"
	}
	return fmt.Sprintf("%.4f", h.Amount)
}

// Sentence is the amount as a sentence says it: "0.1920 an hour".
func (h Hourly) Sentence() string {
	if h.Unknown {
		return "an unknown amount"
	}
	return h.String() + " an hour"
}

// MarshalJSON writes a number, or null.
func (h Hourly) MarshalJSON() ([]byte, error) {
	if h.Unknown {
		return []byte("null"), nil
	}
	return json.Marshal(h.Amount)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (h *Hourly) UnmarshalJSON(raw []byte) error {
	var amount *float64
	if err := json.Unmarshal(raw, &amount); err != nil {
		return fmt.Errorf("reading an amount per hour: %w", err)
	}
	if amount == nil {
		*h = Hourly{Unknown: true}
	} else {
		*h = Hourly{Amount: *amount}
	}
	return nil
}
