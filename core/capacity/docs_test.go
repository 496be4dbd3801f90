package capacity

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/validate"
)

const guide = "../../docs/node-disruption.md"

// The guide's examples are read as they stand.
func TestGuideExamples(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 2)
	budgets := "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  disruption:\n    " + strings.ReplaceAll(blocks[0][1], "\n", "\n    ")
	raw, err := yaml.YAMLToJSON([]byte(budgets))
	require.NoError(t, err)
	decoded, faults := validate.Decode(raw)
	require.Empty(t, faults)
	require.Empty(t, decoded.Notes)
	saturday := at(21, 0, 0)
	parsed := ParseBudgets(validate.As[api.NodePool](&decoded).Spec.Budgets(), time.LoadLocation)
	require.Equal(t, []Count{0, 5, 5, 0}, []Count{
		parsed.Limit(saturday.Add(-1), 10, api.ReasonEmpty, Rules{}), parsed.Limit(saturday, 10, api.ReasonEmpty, Rules{}),
		parsed.Limit(at(22, 23, 59), 10, api.ReasonEmpty, Rules{}), parsed.Limit(at(23, 0, 0), 10, api.ReasonEmpty, Rules{}),
	})
	raw, err = yaml.YAMLToJSON([]byte(blocks[1][1]))
	require.NoError(t, err)
	_, faults = validate.Decode(raw)
	require.Empty(t, faults)
}
