package api

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// An order is read as it is written, and nothing else is.
func TestOrdersAreReadAsTheyAreWritten(t *testing.T) {
	for _, order := range []Order{{}, {Epoch: 1, Term: 1795846287, Generation: 12}, {math.MaxUint64, math.MaxUint64, math.MaxUint64}} {
		read, err := ParseOrder(order.String())
		require.NoError(t, err)
		require.Equal(t, order, read)
	}
	for _, text := range []string{"", "1", "1.2", "1.2.3.4", "1.2.", "-1.2.3", "a.2.3", "1.2.18446744073709551616", " 1.2.3"} {
		_, err := ParseOrder(text)
		require.ErrorContains(t, err, "expected an order", text)
	}
}
