package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A new node gets the labels that its pool asks for and that nobody else gives it, so that it is not
// drifted from the start.
func TestDefaultLabels(t *testing.T) {
	want := func(key, operator string, values ...string) api.NodeRequirement {
		return api.NodeRequirement{Key: key, Operator: operator, Values: values}
	}
	for name, row := range map[string]struct {
		requirements []api.NodeRequirement
		want         map[string]string
	}{
		"none":                         {nil, nil},
		"the first of several":         {[]api.NodeRequirement{want("team", "In", "b", "a")}, map[string]string{"team": "a"}},
		"what is left of two":          {[]api.NodeRequirement{want("team", "In", "b", "a"), want("team", "NotIn", "a")}, map[string]string{"team": "b"}},
		"anything":                     {[]api.NodeRequirement{want("team", "Exists")}, map[string]string{"team": "true"}},
		"nothing is fine":              {[]api.NodeRequirement{want("team", "NotIn", "a"), want("old", "DoesNotExist")}, nil},
		"above":                        {[]api.NodeRequirement{want("gen", "Gt", "3"), want("gen", "NotIn", "4")}, map[string]string{"gen": "5"}},
		"above nine":                   {[]api.NodeRequirement{want("gen", "Gt", "9")}, map[string]string{"gen": "10"}},
		"below":                        {[]api.NodeRequirement{want("gen", "Lt", "3")}, map[string]string{"gen": "2"}},
		"no number is between":         {[]api.NodeRequirement{want("gen", "Gt", "3"), want("gen", "Lt", "4")}, nil},
		"what the machine is":          {[]api.NodeRequirement{want("topology.kubernetes.io/zone", "In", "z"), want("beta.kubernetes.io/arch", "In", "arm64")}, nil},
		"at least and at most, closed": {[]api.NodeRequirement{want("gen", "Gte", "3"), want("gen", "Lte", "3")}, map[string]string{"gen": "3"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, row.want, DefaultLabels(row.requirements)) })
	}
}

// What every new node is labelled with by whoever makes it, no pool has to.
func TestLabelsThatEveryNodeHas(t *testing.T) {
	for _, key := range []string{
		"karpenter.sh/nodepool", "karpenter.sh/capacity-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/windows-build", "kubernetes.io/hostname",
	} {
		asked := []api.NodeRequirement{{Key: key, Operator: "In", Values: []string{"x"}}}
		require.Empty(t, DefaultLabels(asked), key)
		_, met := Needs{}.Allows(NeedsOfLabels(map[string]string{key: "x"}), nil)
		require.True(t, met, "a node that is to be may have any %s", key)
	}
	lacking, met := Needs{}.Allows(NeedsOfLabels(map[string]string{"team": "x"}), nil)
	require.False(t, met)
	require.Equal(t, "team", lacking)
}
