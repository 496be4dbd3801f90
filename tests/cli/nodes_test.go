package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/hub/dev"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// TestLiveNodes runs the scripts about nodes, each against a fleet of its own: berlin and oslo have nodes of the
// pool general, tampa has nodes that nobody manages, and all are admitted.
func TestLiveNodes(t *testing.T) {
	runScripts(t, "nodes", func(t *testing.T) *runner {
		return &runner{env: startNodeFleet(t), mask: maskNodes}
	})
}

// startNodeFleet starts a fleet whose nodes the hub knows, in which what is decided begins at once.
func startNodeFleet(t *testing.T) session.Environment {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fleet, err := dev.Start(ctx, dev.Options{
		Hub: hubd.Options{
			Now: elsewhen.Now, Fleet: "default", Server: &server.Options{Dir: t.TempDir(), Port: -1, Log: zerolog.Nop()}, Log: zerolog.Nop(),
			Policy: hubd.Policy{Disruption: configs.Disruption{
				Enabled: true, Interval: configs.Duration(10 * time.Millisecond), ValidationWait: configs.Duration(10 * time.Millisecond),
			}},
		},
		Members: []configs.Agent{nodeMember("berlin", "general", 3), nodeMember("oslo", "general", 1), nodeMember("tampa", "", 1)},
		Log:     zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	env := liveEnvironment(fleet)
	for name, verdict := range map[string]string{"berlin": "NodePoolUnknown", "oslo": "NodePoolUnknown", "tampa": "Unmanaged"} {
		bustest.Eventually(t, func() error { return runs(t, env, "", "member", "admit", name) })
		bustest.Eventually(t, func() error { return runs(t, env, verdict, "get", "nodes", "-m", name) })
	}
	return env
}

// runs says why a command does not end well and print a text.
func runs(t *testing.T, env session.Environment, want string, args ...string) error {
	t.Helper()
	var out, errs bytes.Buffer
	env.In, env.Out, env.Err = strings.NewReader(""), &out, &errs
	code := cli.Main(t.Context(), args, env)
	if code != session.ExitDone || !strings.Contains(out.String(), want) || strings.Contains(errs.String(), "nothing is decided") {
		return fmt.Errorf("%s: exit %d, without %q:\n%s%s", strings.Join(args, " "), code, want, out.String(), errs.String())
	}
	return nil
}

// fails is the exit code of a command and what it says of its failure.
func fails(t *testing.T, env session.Environment, args ...string) (int, string) {
	t.Helper()
	var out, errs bytes.Buffer
	env.In, env.Out, env.Err = strings.NewReader(""), &out, &errs
	return cli.Main(t.Context(), args, env), errs.String()
}

func nodeMember(name, pool string, nodes int) configs.Agent {
	c := member(name, "eu", "4", 0)
	c.Nodes.Interval, c.Nodes.LeastDrain = configs.Duration(10*time.Millisecond), configs.Duration(10*time.Millisecond)
	c.Nodes.Memory.DeleteTime = configs.Duration(10 * time.Millisecond)
	c.Target.Memory.MostGrace, c.Target.Memory.ReadyAfter = configs.Duration(10*time.Millisecond), configs.Duration(10*time.Millisecond)
	one := configs.Nodes{
		Name: name, Count: nodes, CPU: "4", Memory: "16Gi", InstanceType: "Standard_D4s_v5", Zone: "eastus-1", NodePool: pool, CapacityType: "on-demand",
	}
	c.Target.Memory.Nodes = []configs.Nodes{one}
	return c
}

// TestNodesThatGo applies a pool that may lose all its nodes: those that are empty go, each of their disruptions
// is told of, and what the hub had chosen is seen to be done.
func TestNodesThatGo(t *testing.T) {
	env := startNodeFleet(t)
	t.Chdir("testdata/files")
	require.NoError(t, runs(t, env, "nodepool.karpenter.sh/general created", "apply", "-f", "nodes-catalog.yaml", "-f", "nodes-free.yaml"))
	bustest.Eventually(t, func() error {
		return runs(t, env, "tampa   tampa-1", "get", "nodes", "--no-headers")
	})
	for node, member := range map[string]string{"berlin-1": "berlin", "berlin-2": "berlin", "berlin-3": "berlin", "oslo-1": "oslo"} {
		bustest.Eventually(t, func() error { return runs(t, env, "DisruptionDone", "events", "node/"+node, "-m", member) })
	}
	for _, command := range [][]string{{"why", "node/oslo/oslo-1"}, {"get", "node", "oslo-1", "-m", "oslo"}} {
		code, errs := fails(t, env, command...)
		require.Equal(t, session.ExitDifferent, code, errs)
		require.Contains(t, errs, "there is no node oslo-1 on member oslo any more; ", command)
		require.Contains(t, errs, "next: flotilla events node/oslo-1 -m oslo", command)
	}
	require.NoError(t, runs(t, env, "DisruptionDone", "events", "node/oslo/oslo-1"))
	require.NoError(t, runs(t, env, "Done", "get", "disruptions", "-m", "oslo"))
	require.NoError(t, runs(t, env, "general", "budgets", "general"))
}

// nodeMasks are for what nodes bring beside what maskLive covers.
var nodeMasks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b(empty|single|multi|manual)-\d+-[0-9a-f]{8}\b`), "$1-ID"},
	{regexp.MustCompile(`\b[a-z]+-node-[0-9a-f]+-\d{8}\b`), "UID"},
	{regexp.MustCompile(`[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d`), "DAY"},
}

func maskNodes(text string) string {
	for _, m := range nodeMasks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return maskLive(text)
}
