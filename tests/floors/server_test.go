package floors

import (
	"go/ast"
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

// TestOnePackageMakesServersOfHTTP holds what hub and agent serve by HTTP to the bounds of package gate.
func TestOnePackageMakesServersOfHTTP(t *testing.T) {
	makers := 0
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if under(path, "tests") || !slices.Contains(p.Imports, "net/http") {
			continue
		}
		for _, file := range parse(t, path) {
			ast.Inspect(file, func(n ast.Node) bool {
				if made := serverOf(n); made != "" && path != "bus/gate" {
					t.Errorf("%s uses http.%s: gate.Serving makes servers, which take little of each connection", path, made)
				} else if made != "" {
					makers++
				}
				return true
			})
		}
	}
	require.Positive(t, makers, "package gate makes servers: its name has changed")
}

// serverOf is what a node makes a server of HTTP with, or empty.
func serverOf(n ast.Node) string {
	if literal, is := n.(*ast.CompositeLit); is && selected(literal.Type) == "Server" {
		return "Server"
	}
	if call, is := n.(*ast.CallExpr); is && slices.Contains([]string{"Serve", "ServeTLS", "ListenAndServe", "ListenAndServeTLS"}, selected(call.Fun)) {
		return selected(call.Fun)
	}
	return ""
}

// selected is the name out of package http that an expression is, or empty.
func selected(e ast.Expr) string {
	if s, is := e.(*ast.SelectorExpr); is {
		if of, is := s.X.(*ast.Ident); is && of.Name == "http" {
			return s.Sel.Name
		}
	}
	return ""
}
