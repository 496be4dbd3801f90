package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// A need is written as the requirements that say it.
func TestNeedsAreWrittenAsRequirements(t *testing.T) {
	for name, c := range map[string]struct {
		set  capacity.Set
		want []api.NodeRequirement
	}{
		"nothing":  {capacity.SetOf("DoesNotExist", nil), []api.NodeRequirement{{Key: "a", Operator: "DoesNotExist"}}},
		"values":   {capacity.SetOf("In", []string{"x", "y"}), []api.NodeRequirement{{Key: "a", Operator: "In", Values: []string{"x", "y"}}}},
		"anything": {capacity.SetOf("Exists", nil), []api.NodeRequirement{{Key: "a", Operator: "Exists"}}},
		"all but":  {capacity.SetOf("NotIn", []string{"x"}), []api.NodeRequirement{{Key: "a", Operator: "NotIn", Values: []string{"x"}}}},
		"above":    {capacity.SetOf("Gt", []string{"3"}), []api.NodeRequirement{{Key: "a", Operator: "Gt", Values: []string{"3"}}}},
		"below":    {capacity.SetOf("Lt", []string{"7"}), []api.NodeRequirement{{Key: "a", Operator: "Lt", Values: []string{"7"}}}},
	} {
		require.Equal(t, c.want, requirementOf(&capacity.Need{Key: "a", Set: c.set}), name)
	}
}
