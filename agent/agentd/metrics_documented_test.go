package agentd

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/nodes"
	"flotilla/tests/documented"
)

// The table of the document has every metric that an agent exports, with exactly its labels, and no other.
func TestMetricsAreThoseOfTheDocument(t *testing.T) {
	written := documented.Metrics(t, "../../docs/operations.md")
	maps.DeleteFunc(written, func(name, _ string) bool { return !strings.HasPrefix(name, "flotilla_agent_") })
	require.Equal(t, written, documented.Exported(t, registry("berlin", nil, nil, &nodes.Nodes{})))
}
