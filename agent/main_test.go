package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"flotilla/agent/agentd"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/configs"
	"flotilla/core/api"
)

func TestMain(m *testing.M) {
	_ = os.Unsetenv("KUBERNETES_SERVICE_HOST") // the tests may run in a pod
	os.Exit(m.Run())
}

func TestFlagsWinOverTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
member: paris
fleet: blue
location: francecentral
labels: {region: eu, env: prod}
heartbeatInterval: 30s
target: {memory: {faults: ["fail=Job"]}}
`), 0o600))
	for name, c := range map[string]struct {
		args []string
		want func(*configs.Agent)
	}{
		"the file alone": {[]string{"--config", file}, func(c *configs.Agent) {
			c.Member, c.Fleet, c.Location = "paris", "blue", "francecentral"
			c.Labels = map[string]string{"region": "eu", "env": "prod"}
			c.HeartbeatInterval = configs.Duration(30 * time.Second)
			c.Target.Memory.Faults = []string{"fail=Job"}
			c.DataDir = filepath.Join("flotilla-agent", "paris")
		}},
		"flags alone": {[]string{"--member", "berlin", "--url", "nats://a", "--creds", "b", "--property", "x=1", "--log-level", "debug"}, func(c *configs.Agent) {
			c.Member, c.Bus.URL, c.Bus.Creds, c.Log.Level = "berlin", "nats://a", "b", "debug"
			c.Properties = map[string]string{"x": "1"}
			c.DataDir = filepath.Join("flotilla-agent", "berlin")
		}},
		"both": {[]string{
			"--config", file, "--member", "berlin", "--data", "here", "--label", "env=test", "--fault", "down",
			"--heartbeat-interval", "5s", "--fleet", "", "--subscription-id", "s", "--resource-group", "g", "--context", "n", "--metrics-address", ":1",
			"--upgrade-command", "upgrade", "--upgrade-command", "all of it",
		}, func(c *configs.Agent) {
			c.Member, c.Fleet, c.DataDir, c.Location = "berlin", "", "here", "francecentral"
			c.SubscriptionID, c.ResourceGroup, c.Bus.Context, c.MetricsAddress = "s", "g", "n", ":1"
			c.Labels = map[string]string{"region": "eu", "env": "test"}
			c.HeartbeatInterval = configs.Duration(5 * time.Second)
			c.Target.Memory.Faults = []string{"fail=Job", "down"}
			c.Upgrade.Driver, c.Upgrade.Exec.Command = configs.DriverExec, []string{"upgrade", "all of it"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var f flags
			parsed := f.command()
			require.NoError(t, parsed.ParseFlags(c.args))
			got, err := f.load(parsed)
			require.NoError(t, err)
			require.Nil(t, got.Token)
			require.Nil(t, got.Pod)
			want := configs.DefaultAgent()
			c.want(&want)
			require.Equal(t, want, got.Config)
		})
	}
}

func TestMistakesAreSaid(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("membr: paris\nheartbeatInterval: soon\n"), 0o600))
	for want, args := range map[string][]string{
		"--member NAME":                 nil,
		"membr":                         {"--config", bad},
		"heartbeatInterval":             {"--config", bad},
		"no such file":                  {"--config", filepath.Join(dir, "none.yaml")},
		"unknown flag":                  {"--nonsense"},
		"unknown command":               {"berlin"},
		"is not a duration":             {"--member", "berlin", "--data", dir, "--fault", "slow=now"},
		"log.level":                     {"--member", "berlin", "--data", dir, "--log-level", "loud"},
		"flotilla member enrol":         {"--member", "berlin", "--data", dir, "--creds", filepath.Join(dir, "none.creds")},
		"that has enrolled is found by": {"--token", "@" + filepath.Join(dir, "none.token")},
		"that are no token":             {"--token", "berlin"},
	} {
		c := new(flags).command()
		c.SetArgs(args)
		c.SetOut(&bytes.Buffer{})
		c.SetErr(&bytes.Buffer{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		require.ErrorContains(t, c.ExecuteContext(ctx), want)
		cancel()
	}
}

func TestAMistypedFlagIsSuggested(t *testing.T) {
	c := new(flags).command()
	c.SetArgs([]string{"--membr", "oslo"})
	require.EqualError(t, c.Execute(), "unknown flag: --membr, did you mean --member? See agent --help")
}

// A token names its member; its file may go once the agent has enrolled.
func TestATokenNamesItsMember(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "berlin.token")
	given := api.Token{Fleet: "shop", Member: "berlin", Seed: "SU"}
	require.NoError(t, os.WriteFile(path, []byte(given.String()+"\n"), 0o600))
	load := func(args ...string) (agentd.Options, error) {
		var f flags
		parsed := f.command()
		require.NoError(t, parsed.ParseFlags(args))
		return f.load(parsed)
	}
	o, err := load("--token", "@"+path)
	require.NoError(t, err)
	require.Equal(t, &given, o.Token)
	require.Equal(t, "berlin", o.Config.Member)
	require.Equal(t, filepath.Join("flotilla-agent", "berlin"), o.Config.DataDir)

	require.NoError(t, os.Remove(path))
	_, err = load("--token", "@"+path, "--member", "berlin", "--data", dir)
	require.ErrorContains(t, err, "is found by --member or --data, without a token")
	_, err = member.OpenWallet(member.Folder(dir), bustest.Token(t, "berlin"))
	require.NoError(t, err)
	require.NoError(t, os.Rename(filepath.Join(dir, "identity.enrolling.json"), filepath.Join(dir, "identity.json")))
	for _, args := range [][]string{{"--token", "@" + path, "--member", "berlin"}, {"--token", "@" + path}, nil} {
		o, err = load(append(args, "--data", dir)...)
		require.NoError(t, err)
		require.Nil(t, o.Token)
		require.Equal(t, "berlin", o.Config.Member)
		require.Equal(t, dir, o.Config.DataDir)
	}
}

// A token on the command line is read by every user of the machine: who gives it so is told, and how to do without. A file
// and standard input give the same token in silence.
func TestATokenOnTheCommandLineIsWarnedOf(t *testing.T) {
	given := api.Token{Fleet: "shop", Member: "berlin", Seed: "SU"}
	path := filepath.Join(t.TempDir(), "berlin.token")
	require.NoError(t, os.WriteFile(path, []byte(given.String()+"\n"), 0o600))
	load := func(input string, args ...string) (o agentd.Options, said string, err error) {
		var f flags
		var stderr bytes.Buffer
		parsed := f.command()
		parsed.SetErr(&stderr)
		parsed.SetIn(strings.NewReader(input))
		require.NoError(t, parsed.ParseFlags(append(args, "--data", t.TempDir())))
		o, err = f.load(parsed)
		return o, stderr.String(), err
	}
	o, said, err := load("", "--token", given.String())
	require.NoError(t, err)
	require.Equal(t, &given, o.Token)
	require.Equal(t, "agent: warning: the token of --token stands in the list of processes, which every user of the machine reads: "+
		"name a file that holds it, --token @FILE, or give it on standard input, --token -\n", said)
	for _, c := range [][]string{{"", "@" + path}, {given.String() + "\n", "-"}, {given.String(), "-"}} {
		o, said, err = load(c[0], "--token", c[1])
		require.NoError(t, err)
		require.Equal(t, &given, o.Token)
		require.Empty(t, said)
	}
	_, _, err = load("", "--token", "-", "--member", "berlin")
	require.ErrorContains(t, err, "token: found nothing on standard input")
	_, _, err = load(strings.Repeat("x", 2*api.MaxToken), "--token", "-")
	require.ErrorContains(t, err, "characters that are no token")
}

// The member of a configuration may come from a flag.
func TestTheMemberMayBeAFlagBesideAConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(file, []byte("location: westeurope\n"), 0o600))
	var f flags
	parsed := f.command()
	require.NoError(t, parsed.ParseFlags([]string{"--config", file, "--member", "berlin"}))
	o, err := f.load(parsed)
	require.NoError(t, err)
	require.Equal(t, "berlin", o.Config.Member)
}

// What the Kubernetes libraries say is in the agent's log, and not beside it.
func TestTheLibrariesSpeakIntoTheLog(t *testing.T) {
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	os.Stderr = file
	c := new(flags).command()
	c.SetArgs([]string{"--member", "berlin", "--data", t.TempDir(), "--fault", "slow=now"})
	require.ErrorContains(t, c.Execute(), "is not a duration", "it ends before it does anything")
	klog.Background().Info("a watch was closed")
	klog.Warning("an older warning")
	require.NoError(t, file.Close())
	said, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.Contains(t, string(said), "a watch was closed")
	require.Equal(t, 2, strings.Count(string(said), "client-go"), string(said))
}
