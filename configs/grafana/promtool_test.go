//go:build promtool

package grafana

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func promtool(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("promtool", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Each alert fires when it should.
func TestAlertsFire(t *testing.T) {
	promtool(t, "check", "rules", "alerts.yaml")
	promtool(t, "test", "rules", "alerts_test.yaml")
}

// What Grafana is to ask Prometheus for can be read by it.
func TestPrometheusReadsTheBoard(t *testing.T) {
	var text strings.Builder
	text.WriteString("groups:\n- name: board\n  rules:\n")
	all := expressions(t)
	for i, of := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "  - {record: 'board:%d', expr: %q}\n", i, all[of])
	}
	path := filepath.Join(t.TempDir(), "board.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	promtool(t, "check", "rules", path)
}
