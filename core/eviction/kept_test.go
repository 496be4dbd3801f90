package eviction

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEvictionsAreKeptForSoLongAndSoMany(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	at := func(name string, age time.Duration) Decided { return Decided{name, now.Add(-age)} }
	gone, next := Outlived([]Decided{at("old", KeptFor), at("young", time.Hour), at("older", 2*KeptFor), at("aging", KeptFor-time.Minute), {Name: "unknown"}}, now)
	require.Equal(t, []string{"old", "older"}, gone)
	require.Equal(t, now.Add(time.Minute), next)

	gone, next = Outlived([]Decided{{Name: "unknown"}}, now)
	require.Empty(t, gone)
	require.Zero(t, next)

	var many []Decided
	for i := range MostKept + 2 {
		many = append(many, at(fmt.Sprintf("e%04d", i), time.Duration(i)*time.Second))
	}
	gone, next = Outlived(append(many, Decided{Name: "unknown"}), now)
	require.Equal(t, []string{"e0999", "e1000", "e1001"}, gone)
	require.Equal(t, now.Add(KeptFor-998*time.Second), next)
}
