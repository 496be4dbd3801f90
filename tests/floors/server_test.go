package floors

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const natsServer = "github.com/nats-io/nats-server"

// hosts are the packages that may bring a NATS server into a program, and why.
var hosts = map[string]string{
	"hub":              "the hub makes accounts by command",
	"hub/hubd":         "a hub runs a server where it is not given one",
	"hub/dev":          "a fleet in one process",
	"bus/bustest":      "a server for each test",
	"tests/demo":       "a fleet in one process",
	"tests/page/crowd": "a fleet in one process, looked at",
	"tests/scale":      "a fleet of processes, measured",
}

func TestAgentAndCommandLineCarryNoServer(t *testing.T) {
	for _, program := range []string{"agent", "hub/flotilla"} {
		require.Empty(t, servers(t, program), "%s links what only a hub runs", program)
	}
	require.NotEmpty(t, servers(t, "hub"), "the hub runs a server: the name of the package has changed")
}

func TestOnlyHostsImportAServer(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if hosts[path] == "" && slices.Contains(p.Imports, module+"/bus/server") {
			t.Errorf("%s may not import bus/server: connections and credentials are to be had from bus", path)
		}
	}
}

// servers are the packages of a NATS server that a program links.
func servers(t *testing.T, program string) (found []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"/"+program).Output()
	require.NoError(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, natsServer) {
			found = append(found, path)
		}
	}
	return found
}
