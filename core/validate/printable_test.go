package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// What a document names itself by is refused at its place when a terminal would obey it, and no fault repeats it.
func TestNamesThatATerminalWouldObey(t *testing.T) {
	const document = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"reader","namespace":"shop","labels":{"key":"value"},"annotations":{"note":"free"}}}`
	for _, bad := range []string{"Dep\u001b[31mloyment", "a\u009b2Jb", "a\nb", "a\rb", "a\u202eb", "a\u2066b", "a\u200bb", "a\u0000b", "a\u2028b", "a\u007fb"} {
		quoted, err := json.Marshal(bad)
		require.NoError(t, err)
		inside := strings.Trim(string(quoted), `"`)
		for _, row := range [][3]string{
			{"apiVersion", "rbac.authorization.k8s.io/v1", inside},
			{"apiVersion", "rbac.authorization.k8s.io/v1", inside + "/v1"},
			{"apiVersion", "rbac.authorization.k8s.io/v1", "apps/" + inside},
			{"kind", "Role", inside},
			{"metadata.name", "reader", inside},
			{"metadata.namespace", "shop", inside},
			{"metadata.labels", `"key"`, `"` + inside + `"`},
			{"metadata.labels.key", "value", inside},
			{"metadata.annotations", "note", inside},
		} {
			_, faults := Decode([]byte(strings.Replace(document, row[1], row[2], 1)))
			require.NotEmpty(t, faults, "%s %q", row[0], bad)
			require.True(t, strings.HasPrefix(faults[0].Path, row[0]), "%s %q: %v", row[0], bad, faults)
			require.True(t, api.Printable(strings.ReplaceAll(faults.Error(), "\n", " ")), "%q", faults.Error())
		}
	}
	_, faults := Decode([]byte(document))
	require.Empty(t, faults)
	_, faults = Decode([]byte(strings.Replace(document, "reader", "system:näme 1", 1)))
	require.Empty(t, faults, "a name need not be ASCII where Kubernetes does not ask for it")
}
