package placement

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestEvictionsHaveNamesOfTheirOwn(t *testing.T) {
	a, b := evictionOf("web", "berlin"), evictionOf("web", "berlin")
	require.Regexp(t, `^web-berlin-[a-z2-7]{6}$`, a.Name)
	require.NotEqual(t, a.Name, b.Name)
	long := evictionOf(strings.Repeat("a", 40)+"."+strings.Repeat("b", 22), strings.Repeat("c", 63))
	require.LessOrEqual(t, len(long.Name), 63)
	require.Empty(t, validation.IsDNS1123Subdomain(long.Name))
	require.Empty(t, validation.IsDNS1123Subdomain(evictionOf(strings.Repeat("a", 55)+".b", "c").Name))
}
