package offline

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A hint about files can be pasted into a shell, whatever their names.
func TestHintsQuoteTheNamesOfFiles(t *testing.T) {
	files := []string{"web.yaml", "my web.yaml", "it's.yaml", "a;b.yaml", "$HOME.yaml", "größe.yaml", "*.yaml"}
	s := &Source{Files: files, kustomize: "over lays"}
	command := s.Command("plan")
	require.Contains(t, command, "flotilla plan -f web.yaml -f 'my web.yaml' ")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `flotilla() { printf '%s\n' "$@"; }; `+command).Output()
	require.NoError(t, err)
	want := "plan\n"
	for _, file := range files {
		want += "-f\n" + file + "\n"
	}
	require.Equal(t, want+"-k\nover lays\n", string(out))
}
