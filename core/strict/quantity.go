package strict

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Bounds of every amount that comes as text (D28). Within them arithmetic costs next to nothing; beyond them a
// dozen characters can ask for a gigabyte of digits.
const (
	maxAmountLength   = 40
	maxAmount         = 1e30
	maxAmountDecimals = 18
	maxAmountExponent = 99 // a text with more is beyond the others, or is a zero that nobody writes so
)

// ErrAmountBounds is that of an amount that may be one and is not read, being too long, too large or too fine.
var ErrAmountBounds = errors.New("not within 40 characters, ±1e30 and 18 digits behind the point")

// What texts are that are no amount.
var (
	ErrNoQuantity = errors.New("not a quantity")
	ErrNoDecimal  = errors.New("not a decimal number")
)

const amountBounds = " of at most 40 characters, from -1e30 to 1e30, with at most 18 digits behind the point"

// ParseQuantity reads a Kubernetes quantity, "100m", "1.5" or "2Gi". It is the only way from text to a
// resource.Quantity: it returns ErrAmountBounds, before any arithmetic, for what Kubernetes would calculate with
// for minutes.
func ParseQuantity(text string) (resource.Quantity, error) {
	if err := checkAmount(text); err != nil {
		return resource.Quantity{}, err
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, ErrNoQuantity
	}
	return q, nil
}

// ParseDecimal reads a decimal number, "0.096" or "3e2", within the bounds of quantities.
func ParseDecimal(text string) (float64, error) {
	if err := checkAmount(text); err != nil {
		return 0, err
	}
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, ErrNoDecimal
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, ErrNoDecimal
	}
	return f, nil
}

// IsQuantity reports whether text is a Kubernetes quantity within the bounds of amounts.
func IsQuantity(text string) bool {
	_, err := ParseQuantity(text)
	return err == nil
}

// ExpectedAmount words what is expected instead of a text that could not be read as one; like is an example.
func ExpectedAmount(err error, what, like string) string {
	if errors.Is(err, ErrAmountBounds) {
		return what + amountBounds
	}
	return what + ", like " + like
}

// checkAmount returns ErrAmountBounds for a number with or without a suffix that is beyond the bounds of
// amounts, and an error of its own for a text with a second point or a sign inside, in a few passes without
// arithmetic. Other text that is no number is within them.
func checkAmount(text string) error {
	end := len(text) - len(strings.TrimLeft(text, "+-.0123456789"))
	number, suffix := text[:end], text[end:]
	if strings.Count(number, ".") > 1 || end > 0 && strings.ContainsAny(number[1:], "+-") {
		return ErrNoQuantity
	}
	if len(text) > maxAmountLength {
		if strings.Trim(suffix, "+-.0123456789eEinumkKMGTP") != "" {
			return ErrNoQuantity
		}
		return ErrAmountBounds
	}
	exponent, factor, ok := scaleOf(suffix)
	if !ok {
		return ErrAmountBounds
	}
	_, fraction, _ := strings.Cut(number, ".")
	if len(fraction)-exponent > maxAmountDecimals {
		return ErrAmountBounds
	}
	f, err := strconv.ParseFloat(number+"e"+strconv.Itoa(exponent), 64)
	if err == nil && math.Abs(f)*factor > maxAmount {
		return ErrAmountBounds
	}
	return nil
}

// scales are the suffixes of quantities: powers of ten, and of two.
var scales = map[string]struct {
	exponent int
	factor   float64
}{
	"": {0, 1}, "n": {-9, 1}, "u": {-6, 1}, "m": {-3, 1}, "k": {3, 1}, "M": {6, 1}, "G": {9, 1}, "T": {12, 1}, "P": {15, 1}, "E": {18, 1},
	"Ki": {0, 1 << 10}, "Mi": {0, 1 << 20}, "Gi": {0, 1 << 30}, "Ti": {0, 1 << 40}, "Pi": {0, 1 << 50}, "Ei": {0, 1 << 60},
}

// scaleOf is what a suffix multiplies with: a power of ten, and a factor; false for an exponent beyond bounds.
// Other text is 1: it makes no number of what it follows.
func scaleOf(suffix string) (exponent int, factor float64, ok bool) {
	if s, known := scales[suffix]; known {
		return s.exponent, s.factor, true
	}
	if suffix[0] != 'e' && suffix[0] != 'E' {
		return 0, 1, true
	}
	exponent, err := strconv.Atoi(suffix[1:])
	if errors.Is(err, strconv.ErrSyntax) {
		return 0, 1, true
	}
	return exponent, 1, err == nil && exponent >= -maxAmountExponent && exponent <= maxAmountExponent
}

// WholeValue reads text that stands for an integer, "3", "3.0" or "3e2".
func WholeValue(text string) (*big.Int, bool) {
	if checkAmount(text) != nil {
		return nil, false
	}
	if value, ok := new(big.Int).SetString(text, 10); ok {
		return value, true
	}
	if f, err := ParseDecimal(text); err != nil || math.Abs(f) > 1e19 {
		return nil, false
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok || !value.IsInt() {
		return nil, false
	}
	return value.Num(), true
}
