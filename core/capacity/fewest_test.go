package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Of types in their order as many are tried as bring every minimum of values, all of them where none does, and none is needed
// without a minimum.
func TestTheFewestTypesThatHaveEveryMinimum(t *testing.T) {
	of := func(family, arch string) *Machine {
		return &Machine{Needs: Needs{}.With("family", OneValue(family)).With(corev1.LabelArchStable, OneValue(arch))}
	}
	types := []*Machine{of("d", "amd64"), of("d", "arm64"), of("e", "amd64"), of("f", "amd64")}
	for name, c := range map[string]struct {
		minima []minimum
		want   int
		lacks  string
	}{
		"no minimum":         {nil, 0, ""},
		"one value":          {[]minimum{{key: "family", values: 1}}, 1, ""},
		"two values":         {[]minimum{{key: "family", values: 2}}, 3, ""},
		"two of two labels":  {[]minimum{{key: corev1.LabelArchStable, values: 2}, {key: "family", values: 3}}, 4, ""},
		"more than there is": {[]minimum{{key: "family", values: 4}}, 4, "family"},
	} {
		template := &NodeTemplate{MinValues: c.minima}
		require.Equal(t, c.want, template.Fewest(types), name)
		require.Equal(t, c.lacks, template.Lacks(types), name)
	}
}
