package told

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/watch"
)

// Of what came since the last pass the newest of each node is taken in, in the order in which it came.
func TestInboxKeepsTheOrder(t *testing.T) {
	var in inbox
	text := func(body string) watch.Stored { return watch.NewStored([]byte(body), bus.NodeBounds, 1) }
	for _, a := range []Arrival{{Node: "n1", Body: text("1")}, {Body: text("2")}, {Node: "n2", Body: text("3")}, {Body: text("4")}, {Node: "n1", Body: text("5")}} {
		in.Push(a)
	}
	taken := ""
	for _, a := range in.take() {
		taken += string(a.Body.Start(1))
	}
	require.Equal(t, "345", taken)
	require.Empty(t, in.take())
}
