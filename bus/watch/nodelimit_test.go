package watch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of one member ten thousand nodes are taken in, however small their states are.
func TestAMemberHasTenThousandNodes(t *testing.T) {
	limit, l := nodeLimit{bytes: 1 << 30}, &nodeLedger{messages: 9_999}
	require.False(t, limit.exceeded(l, nodeMark{}, 100))
	l.messages++
	require.True(t, limit.exceeded(l, nodeMark{}, 100), "one node more")
	require.False(t, limit.exceeded(l, nodeMark{bytes: 100}, 100), "a node that is known")
}
